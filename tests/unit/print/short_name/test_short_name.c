#include "short_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *name, size_t limit, const char *expected)
{
    struct text text = {0};
    short_name_add(&text, name, limit);
    assert_false(text.failed);
    assert_string_equal(text.data, expected);
    text_deinit(&text);
}

static void test_short_ones_stay(void **state)
{
    (void)state;
    expect("f", 80, "f");
    expect("std::vector<int, std::allocator<int> >::front() const", 80,
           "std::vector<int, std::allocator<int> >::front() const");
}

static void test_libraries(void **state)
{
    (void)state;
    expect("load(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > "
           "const&, bool)",
           80, "load(std::string const&, bool)");
    expect("std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char>>::"
           "append",
           60, "std::string::append");
    expect("std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
           ">, int, std::less<std::__cxx11::basic_string<char, std::char_traits<char>, "
           "std::allocator<char> > >, std::allocator<std::pair<std::__cxx11::basic_string<char, "
           "std::char_traits<char>, std::allocator<char> > const, int> > >::at",
           40, "std::map<std::string, int>::at");
    // An allocator of one's own is no default.
    expect("std::vector<int, my::allocator<int> >::push_back_and_more", 55,
           "std::vector<int, my::allocator<…>>::push_back_and_more");
}

static void test_arguments(void **state)
{
    (void)state;
    const char *name = "outer::f<std::vector<ns::item<int>>, 3>(ns::list<int>)::{lambda(ns::list<"
                       "int>)#1}::operator()";
    expect(name, 92,
           "outer::f<std::vector<ns::item<…>>, 3>(ns::list<int>)::{lambda(ns::list<int>)#1}::"
           "operator()");
    expect(name, 80,
           "outer::f<std::vector<…>, 3>(ns::list<…>)::{lambda(ns::list<…>)#1}::operator()");
    expect(name, 50, "outer::f<…>(…)::{lambda(…)#1}::operator()");
    expect("(anonymous namespace)::f<int, long, unsigned long, char>", 40,
           "(anonymous namespace)::f<int, …>");
    expect("(anonymous namespace)::f<int, long, unsigned long, char>", 30,
           "(anonymous namespace)::f<…>");
}

static void test_operators(void **state)
{
    (void)state;
    expect("ns::operator< <ns::long_type_of_mine>(ns::long_type_of_mine)", 30,
           "ns::operator< <…>(…)");
    expect("ns::a<ns::long_type_of_mine>::operator->", 30, "ns::a<…>::operator->");
    expect("ns::a<ns::long_type_of_mine>::operator()(ns::b<int>) const", 40,
           "ns::a<…>::operator()(…) const");
    expect("ns::a<ns::long_type_of_mine>::operator<<=(ns::b<int>)", 30, "ns::a<…>::operator<<=(…)");
    expect("ns::a<ns::long_type_of_mine>::cooperator<ns::b<int>>", 30, "ns::a<…>::cooperator<…>");
}

static void test_rust(void **state)
{
    (void)state;
    expect("<alloc::vec::Vec<u8> as core::iter::Extend<core::option::Option<u8>>>::extend", 70,
           "<alloc::vec::Vec<…> as core::iter::Extend<…>>::extend");
    expect("<alloc::vec::Vec<u8> as core::iter::Extend<core::option::Option<u8>>>::extend", 50,
           "<alloc::vec::Vec<…> as core::iter::Extend<…>>::extend");
    expect("core::ops::function::impls::<impl core::ops::function::FnMut<A> for &mut F>::call_mut",
           80,
           "core::ops::function::impls::<impl core::ops::function::FnMut<…> for &mut F>::call_mut");
    expect("join::<<a::B as c::D>::spawn::{closure#0}, core::result::Result<x, y>>::{closure#0}",
           70, "join::<<a::B as c::D>::spawn::{closure#0}, …>::{closure#0}");
    expect("call::<fn(alloc::string::String) -> alloc::vec::Vec<u8>, ()>::now", 50,
           "call::<fn(…) -> alloc::vec::Vec<…>, ()>::now");
}

/* What does not nest is taken as it is; what nests too deep, or has nothing to leave out, is cut.
 */
static void test_odd_ones(void **state)
{
    (void)state;
    expect("a>b>c<d(e", 2, "a…e");
    expect(")))))", 4, ")))))");
    expect("f<(a>b)>(c)", 8, "f<…>(…)");
    expect("f<(a<b)>(c)", 8, "f<…>(…)");
    expect("a_name_without_any_brackets_in_it", 10, "a_nam…in_it");
    expect("größegrößegröße", 4, "gr…e");
    expect("größegrößegröße", 6, "gr…ße");
    char deep[2001] = {0};
    memset(deep, '<', 1000);
    memset(deep + 1000, '>', 1000);
    expect(deep, 10, "<<<<<…>>>>>");
}

static void test_names_stay_apart(void **state)
{
    (void)state;
    static const char wide[] = "ns::function_with_a_long_name_that_is_here_twice::<ns::first::"
                               "argument_with_a_long_name<int>, ns::second<long>>";
    static const char other[] = "ns::function_with_a_long_name_that_is_here_twice::<ns::other::"
                                "argument_with_a_long_name<int>, ns::second<long>>";
    static const char alone[] = "ns::another_function_with_a_long_name_that_is_here_once::<ns::"
                                "argument_with_a_long_name<int>>";
    char *copy = strdup(wide);
    char numbered[4][400];
    struct short_names *names = short_names_create();
    assert_non_null(names);
    assert_non_null(copy);
    assert_true(short_names_add(names, wide) && short_names_add(names, other));
    assert_true(short_names_add(names, alone) && short_names_add(names, copy));
    // Nothing but their middle tells these apart.
    for (size_t i = 0; i < 4; i++) {
        memset(numbered[i], 'x', sizeof(numbered[i]) - 1);
        numbered[i][sizeof(numbered[i]) - 1] = '\0';
        numbered[i][200] = (char)('0' + i);
        assert_true(short_names_add(names, numbered[i]));
    }
    assert_true(short_names_settle(names));
    assert_string_equal(short_names_get(names, wide),
                        "ns::function_with_a_long_name_that_is_here_twice::<ns::first::"
                        "argument_with_a_long_name<int>, ns::second<long>>");
    assert_string_equal(short_names_get(names, copy), short_names_get(names, wide));
    assert_string_not_equal(short_names_get(names, other), short_names_get(names, wide));
    assert_string_equal(short_names_get(names, alone),
                        "ns::another_function_with_a_long_name_that_is_here_once::<…>");
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(short_names_get(names, numbered[i]), numbered[i]);
    assert_string_equal(short_names_get(names, "main"), "main");
    short_names_destroy(names);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_ones_stay),
        cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_rust),
        cmocka_unit_test(test_odd_ones),
        cmocka_unit_test(test_names_stay_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
