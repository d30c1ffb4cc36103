/* A file that somebody else has named: regular, inside of its root, and without waiting for
 * anybody. */
#include "foreign_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], root[128];

static void make(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void make_folder(const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void make_link(const char *name, const char *target)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(symlink(target, path), 0);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/psc-foreign-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(root, sizeof(root), "%s/root", folder);
    make("secret", "outside");
    make_folder("root");
    make_folder("root/a");
    make_folder("root/a/b");
    make("root/plain", "plain");
    make("root/a/b/deep", "deep");
    make("root/secret", "inside");
    make_link("root/a/absolute", "/plain");
    make_link("root/a/up", "../../../../secret");
    make_link("root/a/b/folder", "/a/./b/..//b");
    make_link("root/loop", "loop");
    make_link("root/kernel", "/proc/self/root");
    char fifo[256];
    snprintf(fifo, sizeof(fifo), "%s/fifo", root);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    return system(command);
}

typedef int opener(const char *folder, const char *path);

static void expect_text(opener *open_it, const char *path, const char *expected)
{
    char text[64] = "";
    int fd = open_it(root, path);
    if (fd < 0)
        fail_msg("%s: %s", path, strerror(errno));
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(read(fd, text, sizeof(text) - 1) >= 0);
    assert_string_equal(text, expected);
    close(fd);
}

static void expect_error(opener *open_it, const char *path, int expected)
{
    int fd = open_it(root, path);
    assert_int_equal(fd, -1);
    assert_int_equal(errno, expected);
}

static void check_root(opener *open_it)
{
    expect_text(open_it, "/plain", "plain");
    expect_text(open_it, "plain", "plain");
    expect_text(open_it, "//a/./b/deep", "deep");
    expect_text(open_it, "/../../plain", "plain");
    expect_text(open_it, "/a/b/../../plain", "plain");
    expect_text(open_it, "/a/absolute", "plain");
    expect_text(open_it, "/a/up", "inside");
    expect_text(open_it, "/a/b/folder/folder/../b/deep", "deep");
    expect_error(open_it, "/secret/more", ENOTDIR);
    expect_error(open_it, "/nothing", ENOENT);
    expect_error(open_it, "/a/nothing/..", ENOENT);
    expect_error(open_it, "/loop", ELOOP);
    expect_error(open_it, "/fifo", EINVAL);
    expect_error(open_it, "/a", EINVAL);
    char path[128];
    snprintf(path, sizeof(path), "/kernel%s/secret", folder);
    expect_error(open_it, path, ENOENT);
    static char name[300];
    memset(name, 'x', sizeof(name) - 1);
    expect_error(open_it, name, ENAMETOOLONG);
}

static void test_by_the_kernel(void **state)
{
    (void)state;
    check_root(foreign_file_open);
}

static void test_by_steps(void **state)
{
    (void)state;
    check_root(foreign_file_open_by_steps);
}

static void test_without_proc(void **state)
{
    (void)state;
    check_root(foreign_file_open_without_proc);
}

static void test_names(void **state)
{
    (void)state;
    char name[PATH_MAX], expected[256];
    int fd = foreign_file_open(root, "/a/up");
    assert_true(fd >= 0);
    assert_true(foreign_file_get_name(fd, -1, "not asked", name));
    snprintf(expected, sizeof(expected), "%s/secret", root);
    assert_string_equal(name, expected);
    assert_true(foreign_file_user_may_reach(name, getuid(), getgid()));
    assert_false(foreign_file_user_may_reach(name, (uid_t)-1, (gid_t)-1)); // mkdtemp(3): 0700
    assert_false(foreign_file_user_may_reach("secret", getuid(), getgid()));
    close(fd);
    assert_false(foreign_file_get_name(-1, -1, "/", name));
    fd = foreign_file_open(root, "/plain");
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    int other = foreign_file_duplicate(name);
    char text[8] = "";
    assert_true(other >= 0 && other != fd);
    assert_int_equal(read(other, text, sizeof(text)), 5);
    assert_string_equal(text, "plain");
    close(other);
    close(fd);
    assert_int_equal(foreign_file_duplicate(name), -1);
    assert_int_equal(foreign_file_duplicate("/proc/self/fd/1/2"), -1);
    assert_int_equal(foreign_file_duplicate("/proc/self/fd/"), -1);
}

static void test_relative(void **state)
{
    (void)state;
    char before[PATH_MAX], path[256];
    assert_non_null(getcwd(before, sizeof(before)));
    snprintf(path, sizeof(path), "%s/a/b", root);
    assert_int_equal(chdir(path), 0);
    int fd = foreign_file_open_without_proc(NULL, "../../plain");
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(foreign_file_open_without_proc(NULL, "nothing"), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(chdir(before), 0);
}

static void test_without_a_root(void **state)
{
    (void)state;
    char path[256];
    snprintf(path, sizeof(path), "%s/a/b/deep", root);
    int fd = foreign_file_open(NULL, path);
    assert_true(fd >= 0);
    close(fd);
    snprintf(path, sizeof(path), "%s/fifo", root);
    assert_int_equal(foreign_file_open(NULL, path), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(foreign_file_open(NULL, "/dev/null"), -1);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(foreign_file_open("/dev/null", "/x"), -1);
    assert_int_equal(errno, ENOTDIR);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_the_kernel), cmocka_unit_test(test_by_steps),
        cmocka_unit_test(test_without_proc),  cmocka_unit_test(test_names),
        cmocka_unit_test(test_relative),      cmocka_unit_test(test_without_a_root),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
