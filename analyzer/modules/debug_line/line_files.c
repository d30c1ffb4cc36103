/* Directory and file tables of a unit of .debug_line. */
#include "debug_line.h"

#include "line_header.h"

#include <dwarf.h>

/** Forms per entry of a DWARF 5 directory or file table; compilers write at most five. */
#define ENTRY_FORMAT_LIMIT 32

static const char *string_at(const struct elf_bytes *section, uint64_t offset)
{
    if (!section->data || offset >= section->size)
        return NULL;
    const uint8_t *start = section->data + offset;
    return memchr(start, 0, section->size - offset) ? (const char *)start : NULL;
}

/** DWARF 2 to 4 (6.2.4 there): strings up to an empty one, numbered from 1; NULL: not there. */
static const char *find_old_directory(struct byte_cursor tables, uint64_t number)
{
    for (uint64_t i = 1; !tables.failed; i++) {
        const char *directory = cursor_string(&tables);
        if (!directory || !*directory)
            break;
        if (i == number)
            return directory;
    }
    return NULL;
}

static bool find_old_file(struct byte_cursor tables, uint64_t number, struct debug_line_file *ret)
{
    struct byte_cursor files = tables;
    const char *string;
    do {
        string = cursor_string(&files);
    } while (string && *string);

    for (uint64_t i = 1; !files.failed; i++) {
        const char *name = cursor_string(&files);
        if (!name || !*name)
            break;
        uint64_t directory = cursor_uleb(&files);
        cursor_uleb(&files); /* time of modification */
        cursor_uleb(&files); /* size */
        if (i == number && !files.failed) {
            ret->name = name;
            ret->directory = directory ? find_old_directory(tables, directory) : NULL;
            ret->base = NULL;
            return true;
        }
    }
    return false;
}

struct entry_format {
    uint64_t content;
    uint64_t form;
};

/** One DWARF 5 table: how an entry is made up, and how many follow (6.2.4.1). */
struct entry_table {
    struct entry_format formats[ENTRY_FORMAT_LIMIT];
    size_t format_count;
    uint64_t count;
};

struct entry {
    const char *path;
    uint64_t directory;
};

static bool parse_entry_table(struct byte_cursor *cursor, struct entry_table *ret)
{
    ret->format_count = cursor_u8(cursor);
    if (ret->format_count > ENTRY_FORMAT_LIMIT)
        return false;
    for (size_t i = 0; i < ret->format_count; i++) {
        ret->formats[i].content = cursor_uleb(cursor);
        ret->formats[i].form = cursor_uleb(cursor);
    }
    ret->count = cursor_uleb(cursor);
    /* Each entry takes at least a byte, else the table could be endless. */
    return !cursor->failed && (ret->format_count > 0 || ret->count == 0);
}

/** Where the tables are read, and what their values point to. */
struct table_reader {
    struct byte_cursor cursor;
    const struct debug_line_sections *sections;
    uint8_t offset_size;
};

/** A string or a number; the other one is 0. */
struct entry_value {
    const char *string;
    uint64_t number;
};

/** Reads one value; false for a form that must not stand here. */
static bool parse_entry_value(struct table_reader *reader, uint64_t form, struct entry_value *ret)
{
    struct byte_cursor *cursor = &reader->cursor;
    uint8_t offset_size = reader->offset_size;
    *ret = (struct entry_value){0};
    switch (form) {
    case DW_FORM_string:
        ret->string = cursor_string(cursor);
        break;
    case DW_FORM_line_strp:
        ret->string =
            string_at(&reader->sections->line_strings, cursor_unsigned(cursor, offset_size));
        break;
    case DW_FORM_strp:
        ret->string = string_at(&reader->sections->strings, cursor_unsigned(cursor, offset_size));
        break;
    case DW_FORM_strp_sup: /* In a file shared by several (dwz): not followed. */
        cursor_unsigned(cursor, offset_size);
        break;
    case DW_FORM_udata:
        ret->number = cursor_uleb(cursor);
        break;
    case DW_FORM_data1:
        ret->number = cursor_u8(cursor);
        break;
    case DW_FORM_data2:
        ret->number = cursor_unsigned(cursor, 2);
        break;
    case DW_FORM_data4:
        ret->number = cursor_unsigned(cursor, 4);
        break;
    case DW_FORM_data8:
        ret->number = cursor_unsigned(cursor, 8);
        break;
    case DW_FORM_data16: /* MD5 */
        cursor_take(cursor, 16);
        break;
    case DW_FORM_block:
        cursor_take(cursor, cursor_uleb(cursor));
        break;
    default:
        return false;
    }
    return !cursor->failed;
}

static bool parse_entry(struct table_reader *reader, const struct entry_table *table,
                        struct entry *ret)
{
    ret->path = NULL;
    ret->directory = 0;
    for (size_t i = 0; i < table->format_count; i++) {
        struct entry_value value;
        if (!parse_entry_value(reader, table->formats[i].form, &value))
            return false;
        if (table->formats[i].content == DW_LNCT_path)
            ret->path = value.string;
        else if (table->formats[i].content == DW_LNCT_directory_index)
            ret->directory = value.number;
    }
    return true;
}

/** Entry `number` of the table at the reader, which is a copy. */
static bool find_entry(struct table_reader reader, const struct entry_table *table, uint64_t number,
                       struct entry *ret)
{
    if (number >= table->count)
        return false;
    for (uint64_t i = 0; i <= number; i++) {
        if (!parse_entry(&reader, table, ret))
            return false;
    }
    return ret->path != NULL;
}

static bool find_file(const struct line_header *header, const struct debug_line_sections *sections,
                      uint32_t number, struct debug_line_file *ret)
{
    struct table_reader reader = {header->tables, sections, header->offset_size};
    struct entry_table directories;
    if (!parse_entry_table(&reader.cursor, &directories))
        return false;
    const struct table_reader first_directory = reader;
    struct entry entry;
    for (uint64_t i = 0; i < directories.count; i++) {
        if (!parse_entry(&reader, &directories, &entry))
            return false;
    }
    struct entry_table files;
    struct entry file;
    if (!parse_entry_table(&reader.cursor, &files) || !find_entry(reader, &files, number, &file))
        return false;

    *ret = (struct debug_line_file){.name = file.path};
    if (find_entry(first_directory, &directories, 0, &entry))
        ret->base = entry.path;
    if (file.directory != 0 && find_entry(first_directory, &directories, file.directory, &entry))
        ret->directory = entry.path;
    return true;
}

bool parse_debug_line_file(const struct debug_line_sections *sections, uint64_t unit, uint32_t file,
                           struct debug_line_file *ret)
{
    struct line_header header;
    if (!parse_line_header(&sections->line, unit, &header) || !header.tables.next)
        return false;
    return header.version >= 5 ? find_file(&header, sections, file, ret)
                               : find_old_file(header.tables, file, ret);
}
