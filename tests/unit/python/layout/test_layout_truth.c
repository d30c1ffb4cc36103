/*
 * Every cell of layout.def against the DWARF of every interpreter that is here: pyenv's,
 * those in PATH and /usr/bin, and the files in PSC_TEST_PYTHONS (separated by colons; the
 * debug file of ROOT/usr/bin/x is looked for in ROOT/usr/lib/debug).
 */
#include "layout_subject.h"

#include <glob.h>

enum { COLUMNS = 11 };

#define NA                                UINT32_MAX
#define S(n)                              (UINT32_C(0x80000000) | (n))
#define ROW(name, kind, width, path, ...) {__VA_ARGS__},
static const uint32_t cells[PY_FIELD_COUNT][COLUMNS] = {
#include "layout.def"
};
#undef ROW
#undef S
#undef NA

struct counts {
    size_t interpreters;
    size_t compared;
    size_t absent;  /* The matrix says NA. */
    size_t skipped; /* The DWARF does not have the type. */
    size_t wrong;
};

static bool expected_offset(const struct subject *subject, enum py_field field, uint64_t *ret)
{
    uint32_t cell = cells[field][subject->column];
    if (cell == UINT32_MAX)
        return false;
    *ret = cell;
    if (cell & UINT32_C(0x80000000)) {
        size_t word = cell & UINT32_C(0x7fffffff);
        assert_true(8 * word + 8 <= subject->runtime_size);
        *ret = load_u64(subject->runtime + 8 * word);
    }
    return true;
}

/* Builds whose object header is longer: what the program makes of the matrix for them. */
static bool make_moved_layout(struct subject *subject, struct py_layout *ret)
{
    const struct py_rules *rules = layout_find_rules(subject->hex);
    uint64_t header = 0;
    uint64_t width;
    struct psc_error err;
    if (!rules || resolve_path(subject, "_object.", 8, &header, &width) != RESOLVED || header != 32)
        return false;
    enum psc_status status =
        layout_is_self_described(rules)
            ? parse_debug_offsets(subject->runtime, subject->runtime_size, ret, &err)
            : layout_from_table(rules, 32, 0, ret);
    assert_int_equal(status, PSC_OK);
    return true;
}

/* With a GIL all threads run one bytecode. */
static bool is_free_threaded_only(enum py_field field)
{
    return field == PY_FRAME_COPY || field == PY_CODE_COPIES;
}

static void compare_field(struct subject *subject, enum py_field field,
                          const struct py_layout *moved, struct counts *counts)
{
    uint64_t expected;
    uint64_t offset = 0;
    uint64_t width = 0;
    bool there = expected_offset(subject, field, &expected);
    if (moved) {
        there = moved->offset[field] != PY_NO_OFFSET;
        expected = moved->offset[field];
    }
    if (!there || (!subject->free_threaded && is_free_threaded_only(field))) {
        counts->absent++;
        return;
    }
    switch (resolve_field(subject, field, &offset, &width)) {
    case NO_TYPE:
        printf("  skipped: %s (%s is not in the DWARF)\n", layout_field_name(field),
               layout_field_path(field));
        counts->skipped++;
        return;
    case NO_MEMBER:
        printf("  WRONG: %s: no such member (%s)\n", layout_field_name(field),
               layout_field_path(field));
        counts->wrong++;
        return;
    case RESOLVED:
        break;
    }
    counts->compared++;
    uint32_t wanted = layout_field_width(field);
    if (offset == expected && (!wanted || wanted <= width))
        return;
    printf("  WRONG: %s is at %llu (%llu bytes), the matrix says %llu (%u bytes)\n",
           layout_field_name(field), (unsigned long long)offset, (unsigned long long)width,
           (unsigned long long)expected, wanted);
    counts->wrong++;
}

/* What the program makes of the matrix must be what the cells say. */
static void compare_layout(const struct subject *subject, struct counts *counts)
{
    const struct py_rules *rules = layout_find_rules(subject->hex);
    struct py_layout layout;
    struct psc_error err = {0};
    if (!rules)
        return;
    enum psc_status status =
        layout_is_self_described(rules)
            ? parse_debug_offsets(subject->runtime, subject->runtime_size, &layout, &err)
            : layout_from_table(rules, 16, 0, &layout);
    if (status != PSC_OK) {
        printf("  WRONG: no layout: %s\n", err.message);
        counts->wrong++;
        return;
    }
    for (int field = 0; field < PY_FIELD_COUNT; field++) {
        uint64_t expected;
        uint32_t found = layout.offset[field];
        bool there = expected_offset(subject, (enum py_field)field, &expected) &&
                     (subject->free_threaded || !is_free_threaded_only((enum py_field)field));
        if (there ? found == expected : found == PY_NO_OFFSET)
            continue;
        printf("  WRONG: the layout has %s at %u\n", layout_field_name((enum py_field)field),
               found);
        counts->wrong++;
    }
}

/* _asyncio and _datetime are extension modules where they are not built in. */
static void collect_from_extensions(struct subject *subject, Dwarf **opened, int *fds, size_t limit)
{
    static const char *const names[] = {"_asyncio", "_datetime", "array", "_struct"};
    size_t folder = (size_t)(strrchr(subject->image_path, '/') - subject->image_path);
    for (size_t i = 0; i < PSC_ARRAY_SIZE(names) && i < limit; i++) {
        char pattern[700];
        glob_t found;
        opened[i] = NULL;
        fds[i] = -1;
        snprintf(pattern, sizeof(pattern), "%.*s/python3*/lib-dynload/%s.*.so", (int)folder,
                 subject->image_path, names[i]);
        if (!strstr(subject->image_path, "/libpython") ||
            glob(pattern, GLOB_TILDE, NULL, &found) != 0)
            continue;
        fds[i] = open(found.gl_pathv[0], O_RDONLY);
        opened[i] = fds[i] < 0 ? NULL : dwarf_begin(fds[i], DWARF_C_READ);
        if (opened[i] && found.gl_pathc == 1)
            collect_types(subject, opened[i]);
        globfree(&found);
    }
}

static void compare_subject(const char *path, struct counts *counts)
{
    struct subject *subject = calloc(1, sizeof(*subject));
    assert_non_null(subject);
    snprintf(subject->image_path, sizeof(subject->image_path), "%s", path);
    if (!open_subject(subject)) {
        printf("%s: no DWARF: skipped\n", path);
        free(subject);
        return;
    }
    int fd = open(subject->debug_path, O_RDONLY);
    Dwarf *dwarf = fd < 0 ? NULL : dwarf_begin(fd, DWARF_C_READ);
    if (dwarf) {
        Dwarf *extensions[4];
        int extension_fds[4];
        size_t compared = counts->compared;
        want_types(subject);
        collect_types(subject, dwarf);
        uint64_t size;
        uint64_t width;
        if (resolve_path(subject, "_object.", 8, &size, &width) != RESOLVED) {
            printf("%s: no types in its DWARF: skipped\n", path);
            dwarf_end(dwarf);
            close(fd);
            free(subject);
            return;
        }
        collect_from_extensions(subject, extensions, extension_fds, PSC_ARRAY_SIZE(extensions));
        counts->interpreters++;
        struct py_layout moved;
        bool is_moved = make_moved_layout(subject, &moved);
        for (int field = 0; field < PY_FIELD_COUNT; field++)
            compare_field(subject, (enum py_field)field, is_moved ? &moved : NULL, counts);
        if (!is_moved)
            compare_layout(subject, counts);
        printf("%s: %zu cells compared\n", path, counts->compared - compared);
        for (size_t i = 0; i < PSC_ARRAY_SIZE(extensions); i++) {
            dwarf_end(extensions[i]);
            if (extension_fds[i] >= 0)
                close(extension_fds[i]);
        }
        dwarf_end(dwarf);
    }
    if (fd >= 0)
        close(fd);
    free(subject);
}

static void compare_pattern(const char *pattern, struct counts *counts)
{
    glob_t found;
    if (glob(pattern, GLOB_TILDE, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            compare_subject(found.gl_pathv[i], counts);
    globfree(&found);
}

static void test_matrix_is_what_the_dwarf_says(void **state)
{
    struct counts counts = {0};
    (void)state;
    elf_version(EV_CURRENT);
    compare_pattern("~/.pyenv/versions/*/lib/libpython[23].*.so.1.0", &counts);
    compare_pattern("/usr/lib/x86_64-linux-gnu/libpython3.*.so.1.0", &counts);
    compare_pattern("/usr/bin/python3.[0-9]", &counts);
    compare_pattern("/usr/bin/python3.[0-9][0-9]", &counts);
    const char *more = getenv("PSC_TEST_PYTHONS");
    while (more && *more) {
        char path[600];
        size_t size = strcspn(more, ":");
        snprintf(path, sizeof(path), "%.*s", (int)size, more);
        compare_pattern(path, &counts);
        more += size + (more[size] == ':');
    }
    printf("%zu interpreters: %zu cells compared, %zu not there (NA), %zu skipped, %zu wrong\n",
           counts.interpreters, counts.compared, counts.absent, counts.skipped, counts.wrong);
    assert_int_equal(counts.wrong, 0);
    if (!counts.interpreters) {
        printf("SKIPPED: no interpreter with DWARF here\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix_is_what_the_dwarf_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
