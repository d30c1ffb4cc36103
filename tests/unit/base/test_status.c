#include "base.h"

#include <errno.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

static void test_a_sentence_is_kept(void **state)
{
    (void)state;
    struct psc_error err;
    assert_int_equal(psc_fail(&err, PSC_ERR_FORMAT, "%s: not ELF", "core"), PSC_ERR_FORMAT);
    assert_int_equal(err.status, PSC_ERR_FORMAT);
    assert_string_equal(err.message, "core: not ELF");
    assert_int_equal(psc_fail(NULL, PSC_ERR_IO, "nobody asked"), PSC_ERR_IO);
}

static void test_a_status_is_handed_on_as_it_is(void **state)
{
    (void)state;
    struct psc_error err = {0};
    assert_int_equal(psc_fail_status(&err, PSC_OK), PSC_OK);
    assert_string_equal(err.message, "");
    assert_int_equal(psc_fail_memory(&err), PSC_ERR_MEMORY);
    assert_string_equal(err.message, "out of memory");
    char before[sizeof(err.message)] = "";
    for (int status = PSC_ERR_ARGUMENT; status <= PSC_ERR_INTERRUPTED; status++) {
        assert_int_equal(psc_fail_status(&err, (enum psc_status)status), status);
        assert_int_equal(err.status, status);
        assert_string_not_equal(err.message, before);
        assert_true(status == PSC_ERR_MEMORY || strcmp(err.message, "out of memory") != 0);
        strcpy(before, err.message);
    }
}

static void test_an_errno_has_words_of_its_own(void **state)
{
    struct errno_text first, second;
    (void)state;
    const char *words = describe_errno(ENOENT, &first);
    // Numbers that nobody knows are written into memory: into the caller's.
    const char *number = describe_errno(99999, &second);
    assert_string_equal(words, strerror(ENOENT));
    assert_string_equal(number, strerror(99999));
    assert_ptr_equal(number, second.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sentence_is_kept),
        cmocka_unit_test(test_a_status_is_handed_on_as_it_is),
        cmocka_unit_test(test_an_errno_has_words_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
