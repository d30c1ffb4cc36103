#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "target_private.h"

static char root[] = "/tmp/psc-source-dirs-XXXXXX";
static const char *const directories[] = {root};
static struct target target;

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status, (void)kind, (void)at;
    return remove(path);
}

static void make_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_link(const char *name, const char *to)
{
    char path[256];
    make_file(name, "");
    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink(to, path), 0);
}

static int make_tree(void **state)
{
    (void)state;
    if (!mkdtemp(root))
        return -1;
    make_file("uvloop-0.23/uvloop/loop.pyx", "a");
    make_file("uvloop-0.23/uvloop/loop.c", "generated");
    make_file("uvloop-0.23/vendor/libuv/src/unix/loop.c", "other");
    make_file("one/pkg/m.pyx", "same");
    make_file("two/pkg/m.pyx", "same");
    make_file("three/pkg/n.pyx", "this");
    make_file("four/pkg/n.pyx", "or that");
    make_file("three/pkg/same_size.pyx", "this");
    make_file("four/pkg/same_size.pyx", "that");
    make_link("links/pkg/linked.pyx", "../../one/pkg/m.pyx");
    make_link("links/pkg/loop.pyd.pyx", "loop.pyd.pyx");
    make_link("links/pkg/folder.pyx", "../../one");
    make_file(".git/pkg/hidden.pyx", "x");
    make_file("pkg/notes.txt", "x");
    target.arena = arena_create();
    target.options.source_directories = directories;
    target.options.source_directory_count = 1;
    return 0;
}

static int remove_tree(void **state)
{
    (void)state;
    file_index_destroy(target.sources);
    arena_destroy(target.arena);
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void check(const char *wanted, size_t least, const char *want)
{
    const char *found = target_find_source(&target, wanted, least);
    if (want && found)
        assert_string_equal(found + strlen(root) + 1, want);
    else if (want || found)
        fail_msg("%s: %s, not %s", wanted, found, want);
}

static void the_most_components_decide(void **state)
{
    (void)state;
    check("uvloop/loop.pyx", 1, "uvloop-0.23/uvloop/loop.pyx");
    check("/project/uvloop/loop.c", 1, "uvloop-0.23/uvloop/loop.c");
    check("/build/libuv/src/unix/loop.c", 1, "uvloop-0.23/vendor/libuv/src/unix/loop.c");
    check("./uvloop//loop.c", 1, "uvloop-0.23/uvloop/loop.c");
    check("loop.pyx", 2, "uvloop-0.23/uvloop/loop.pyx");
    check("/elsewhere/loop.pyx", 1, "uvloop-0.23/uvloop/loop.pyx");
    check("/elsewhere/loop.pyx", 2, NULL);
}

static void of_several_only_copies_are_taken(void **state)
{
    (void)state;
    check("pkg/m.pyx", 1, "one/pkg/m.pyx");
    check("/b/two/pkg/m.pyx", 1, "two/pkg/m.pyx");
    check("pkg/n.pyx", 1, NULL);
    check("pkg/same_size.pyx", 1, NULL);
    check("three/pkg/same_size.pyx", 1, "three/pkg/same_size.pyx");
    check("four/pkg/n.pyx", 1, "four/pkg/n.pyx");
    check("loop.c", 1, NULL);
}

static void links_to_files_are_followed(void **state)
{
    (void)state;
    check("pkg/linked.pyx", 1, "links/pkg/linked.pyx");
    check("pkg/loop.pyd.pyx", 1, NULL);
    check("pkg/folder.pyx", 1, NULL);
}

static void other_files_are_not_there(void **state)
{
    (void)state;
    check("pkg/hidden.pyx", 1, NULL);
    check("pkg/notes.txt", 1, NULL);
    check("pkg/none.pyx", 1, NULL);
    check("", 1, NULL);
    check("/", 1, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_components_decide),
        cmocka_unit_test(of_several_only_copies_are_taken),
        cmocka_unit_test(links_to_files_are_followed),
        cmocka_unit_test(other_files_are_not_there),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
