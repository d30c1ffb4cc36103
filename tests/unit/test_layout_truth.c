/*
 * Every cell of layout.def against the DWARF of every interpreter that is here: pyenv's,
 * those in PATH and /usr/bin, and the files in PSC_TEST_PYTHONS (separated by colons; the
 * debug file of ROOT/usr/bin/x is looked for in ROOT/usr/lib/debug).
 */
#include "python_private.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

enum { COLUMNS = 11, TYPE_LIMIT = 128, NEST_LIMIT = 8 };

#define NA                                UINT32_MAX
#define S(n)                              (UINT32_C(0x80000000) | (n))
#define ROW(name, kind, width, path, ...) {__VA_ARGS__},
static const uint32_t cells[PY_FIELD_COUNT][COLUMNS] = {
#include "layout.def"
};
#undef ROW
#undef S
#undef NA

/* Types by the names that the matrix asks for. */
struct type {
    char name[48];
    Dwarf_Die die;
    bool found;
};

struct subject {
    char image_path[600];
    char debug_path[1300];
    uint8_t runtime[PY_DEBUG_OFFSETS_MAX]; /* The start of .PyRuntime. */
    size_t runtime_size;
    int column;
    uint32_t hex;
    bool free_threaded;
    struct type types[TYPE_LIMIT];
    size_t type_count;
};

struct counts {
    size_t interpreters;
    size_t compared;
    size_t absent;  /* The matrix says NA. */
    size_t skipped; /* The DWARF does not have the type. */
    size_t wrong;
};

/* ---- DWARF ---- */

static struct type *find_type(struct subject *subject, const char *name, size_t size)
{
    for (size_t i = 0; i < subject->type_count; i++)
        if (strlen(subject->types[i].name) == size &&
            memcmp(subject->types[i].name, name, size) == 0)
            return &subject->types[i];
    return NULL;
}

static void want_types(struct subject *subject)
{
    for (int field = 0; field < PY_FIELD_COUNT; field++) {
        const char *path = layout_field_path((enum py_field)field);
        while (path) {
            size_t size = strcspn(path, ".");
            if (!find_type(subject, path, size)) {
                assert_true(subject->type_count < TYPE_LIMIT && size < 48);
                struct type *type = &subject->types[subject->type_count++];
                memcpy(type->name, path, size);
            }
            path = strchr(path, '|');
            path = path ? path + 1 : NULL;
        }
    }
}

static bool complete_type(Dwarf_Die *die, Dwarf_Die *ret)
{
    if (dwarf_peel_type(die, ret) != 0)
        return false;
    int tag = dwarf_tag(ret);
    return (tag == DW_TAG_structure_type || tag == DW_TAG_union_type) &&
           !dwarf_hasattr(ret, DW_AT_declaration) && dwarf_haschildren(ret) == 1;
}

static void collect_types(struct subject *subject, Dwarf *dwarf)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;
    Dwarf_Die die;
    while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
        if (dwarf_child(&unit, &die) != 0)
            continue;
        do {
            int tag = dwarf_tag(&die);
            if (tag != DW_TAG_structure_type && tag != DW_TAG_typedef)
                continue;
            const char *name = dwarf_diename(&die);
            struct type *type = name ? find_type(subject, name, strlen(name)) : NULL;
            if (type && !type->found)
                type->found = complete_type(&die, &type->die);
        } while (dwarf_siblingof(&die, &die) == 0);
    }
}

static bool find_member(Dwarf_Die *type, const char *name, size_t size, int depth, uint64_t *offset,
                        Dwarf_Die *ret)
{
    Dwarf_Die die;
    if (depth > NEST_LIMIT || dwarf_child(type, &die) != 0)
        return false;
    do {
        Dwarf_Attribute attribute;
        Dwarf_Die member_type;
        Dwarf_Word at = 0;
        if (dwarf_tag(&die) != DW_TAG_member)
            continue;
        if (dwarf_attr(&die, DW_AT_data_member_location, &attribute))
            dwarf_formudata(&attribute, &at);
        if (!dwarf_attr(&die, DW_AT_type, &attribute) ||
            !dwarf_formref_die(&attribute, &member_type))
            continue;
        const char *found = dwarf_diename(&die);
        if (found && strlen(found) == size && memcmp(found, name, size) == 0) {
            *offset += at;
            *ret = member_type;
            return true;
        }
        Dwarf_Die nested;
        uint64_t inside = *offset + at;
        if (!found && complete_type(&member_type, &nested) &&
            find_member(&nested, name, size, depth + 1, &inside, ret)) {
            *offset = inside;
            return true;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

/* The size of a member, of one item when it is an array. */
static uint64_t item_size(Dwarf_Die *type)
{
    Dwarf_Die peeled;
    Dwarf_Attribute attribute;
    Dwarf_Word size;
    if (dwarf_peel_type(type, &peeled) != 0)
        return 0;
    if (dwarf_tag(&peeled) == DW_TAG_array_type) {
        Dwarf_Die item;
        if (!dwarf_attr(&peeled, DW_AT_type, &attribute) || !dwarf_formref_die(&attribute, &item))
            return 0;
        return dwarf_aggregate_size(&item, &size) == 0 ? size : 0;
    }
    return dwarf_aggregate_size(&peeled, &size) == 0 ? size : 0;
}

enum verdict { NO_TYPE, NO_MEMBER, RESOLVED };

/* One "type.member.member" up to `size`. */
static enum verdict resolve_path(struct subject *subject, const char *path, size_t size,
                                 uint64_t *offset, uint64_t *width)
{
    size_t length = strcspn(path, ".");
    struct type *type = find_type(subject, path, length);
    if (!type || !type->found)
        return NO_TYPE;
    Dwarf_Die current = type->die;
    Dwarf_Die member = type->die;
    *offset = 0;
    if (length + 1 == size) {
        Dwarf_Word bytes;
        *width = 0;
        *offset = dwarf_aggregate_size(&current, &bytes) == 0 ? bytes : 0;
        return RESOLVED;
    }
    for (size_t at = length + 1; at < size;) {
        size_t part = strcspn(path + at, ".|");
        if (!complete_type(&member, &current) ||
            !find_member(&current, path + at, part, 0, offset, &member))
            return NO_MEMBER;
        at += part + 1;
    }
    *width = item_size(&member);
    return RESOLVED;
}

static enum verdict resolve_field(struct subject *subject, enum py_field field, uint64_t *offset,
                                  uint64_t *width)
{
    enum verdict best = NO_TYPE;
    const char *path = layout_field_path(field);
    while (path) {
        enum verdict verdict = resolve_path(subject, path, strcspn(path, "|"), offset, width);
        if (verdict == RESOLVED)
            return RESOLVED;
        if (verdict == NO_MEMBER)
            best = NO_MEMBER;
        path = strchr(path, '|');
        path = path ? path + 1 : NULL;
    }
    return best;
}

/* ---- the files ---- */

static bool has_section(Elf *elf, const char *name, Elf_Scn **ret)
{
    size_t names;
    GElf_Shdr header;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return false;
    *ret = NULL;
    while ((*ret = elf_nextscn(elf, *ret)))
        if (gelf_getshdr(*ret, &header) &&
            strcmp(elf_strptr(elf, names, header.sh_name), name) == 0)
            return true;
    return false;
}

static void read_runtime(struct subject *subject, Elf *elf)
{
    Elf_Scn *section;
    Elf_Data *data;
    if (!has_section(elf, ".PyRuntime", &section) || !(data = elf_rawdata(section, NULL)) ||
        !data->d_buf)
        return;
    subject->runtime_size =
        data->d_size < sizeof(subject->runtime) ? data->d_size : sizeof(subject->runtime);
    memcpy(subject->runtime, data->d_buf, subject->runtime_size);
}

static bool find_debug_file(struct subject *subject, Elf *elf)
{
    Elf_Scn *section;
    const void *id;
    if (has_section(elf, ".debug_info", &section)) {
        snprintf(subject->debug_path, sizeof(subject->debug_path), "%s", subject->image_path);
        return true;
    }
    ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
    const char *usr = strstr(subject->image_path, "/usr/");
    if (size < 3 || !usr)
        return false;
    const uint8_t *bytes = id;
    int used = snprintf(subject->debug_path, sizeof(subject->debug_path),
                        "%.*s/usr/lib/debug/.build-id/%02x/", (int)(usr - subject->image_path),
                        subject->image_path, bytes[0]);
    for (ssize_t i = 1; i < size; i++)
        used += snprintf(subject->debug_path + used, sizeof(subject->debug_path) - (size_t)used,
                         "%02x", bytes[i]);
    snprintf(subject->debug_path + used, sizeof(subject->debug_path) - (size_t)used, ".debug");
    return access(subject->debug_path, R_OK) == 0;
}

/* False: not an interpreter with DWARF. */
static bool open_subject(struct subject *subject)
{
    const char *name = strrchr(subject->image_path, '/');
    struct py_debug_offsets head = {0};
    int fd = open(subject->image_path, O_RDONLY);
    if (fd < 0)
        return false;
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    bool found = elf && elf_kind(elf) == ELF_K_ELF && find_debug_file(subject, elf);
    if (found)
        read_runtime(subject, elf);
    elf_end(elf);
    close(fd);
    if (!found)
        return false;
    subject->hex = parse_version_name(name ? name + 1 : subject->image_path);
    if (parse_debug_offsets_head(subject->runtime, subject->runtime_size, &head) == PSC_OK)
        subject->hex = head.hex;
    subject->free_threaded = head.free_threaded;
    uint32_t second = subject->hex >> 16 & 0xff;
    if (subject->hex >> 24 == 2)
        subject->column = second == 7 ? 0 : -1;
    else
        subject->column = second >= 6 && second <= 15 ? (int)second - 5 : -1;
    return subject->column >= 0;
}

/* ---- the comparison ---- */

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
    static const char *const names[] = {"_asyncio", "_datetime"};
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
        Dwarf *extensions[2];
        int extension_fds[2];
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
