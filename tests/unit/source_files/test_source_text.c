/* What a source file says of its encoding, and where its lines end. */
#include "source_files.h"

#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <cmocka.h>

static void check_encoding(const char *text, enum source_encoding expected, const char *converted)
{
    char *found;
    size_t size = 0;
    /* At the very end of its memory: a step beyond would be seen. */
    size_t length = strlen(text);
    char *copy = malloc(length ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    assert_int_equal(source_decode(copy, length, &found, &size), expected);
    if (converted) {
        assert_non_null(found);
        assert_int_equal(size, strlen(converted));
        assert_memory_equal(found, converted, size);
    } else {
        assert_null(found);
    }
    free(found);
    free(copy);
}

static void test_declarations(void **state)
{
    (void)state;
    check_encoding("", SOURCE_UTF8, NULL);
    check_encoding("x = 1\n# coding: latin-1\n", SOURCE_UTF8, NULL);
    check_encoding("\xef\xbb\xbf# coding: latin-1\n", SOURCE_UTF8_MARKED, NULL);
    check_encoding("# -*- coding: UTF-8 -*-\n\xc3\xa9", SOURCE_UTF8, NULL);
    check_encoding("# coding:utf8", SOURCE_UTF8, NULL);
    check_encoding("# coding: latin-1\n\xe9", SOURCE_CONVERTED, "# coding: latin-1\n\xc3\xa9");
    check_encoding("#!/x\n#vim:fileencoding=Latin-1:\n\xe9", SOURCE_CONVERTED,
                   "#!/x\n#vim:fileencoding=Latin-1:\n\xc3\xa9");
    check_encoding("\f \r\n\t# coding= cp1252\n\x80", SOURCE_CONVERTED,
                   "\f \r\n\t# coding= cp1252\n\xe2\x82\xac");
    check_encoding("\n\n# coding: latin-1\n\xe9", SOURCE_UTF8, NULL);
    check_encoding("# coding coding: \n# decoding: koi8_r\n\xc4", SOURCE_CONVERTED,
                   "# coding coding: \n# decoding: koi8_r\n\xd0\xb4");
    check_encoding("# coding: no-such-thing\n", SOURCE_UNKNOWN, NULL);
    check_encoding("# coding: euc-jp\n\xff\xff\xff", SOURCE_UNKNOWN, NULL);
}

static void test_line_ends(void **state)
{
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {{"", 0},       {"a", 1},      {"\n", 1},     {"a\nb", 2}, {"a\r\nb", 3},
                 {"a\rb\n", 2}, {"\r\r\n", 1}, {"\r\n\r", 2}, {"a\r", 2}};
    (void)state;
    for (size_t i = 0; i < PSC_ARRAY_SIZE(cases); i++)
        assert_int_equal(source_line_length(cases[i].text, strlen(cases[i].text)), cases[i].length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_declarations),
        cmocka_unit_test(test_line_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
