#include "firefox.h"
#include "firefox_private.h"

#include <stdlib.h>

#define PROCESSED_VERSION 66
/** Of the format that Firefox itself writes; readers of processed files pass it over. */
#define GECKO_VERSION   32
#define BREAKPAD_DIGITS 32u
#define MS_OF_NS(ns)    ((double)(ns) / 1e6)

/* Colours: src/utils/colors.ts; "transparent" is time in which nothing was done. */
static void put_categories(struct json_writer *writer)
{
    static const struct {
        const char *name, *color;
    } categories[] = {
        [CATEGORY_OTHER] = {"Other", "grey"},
        [CATEGORY_PYTHON] = {"Python", "yellow"},
        [CATEGORY_CYTHON] = {"Cython", "orange"},
        [CATEGORY_NATIVE] = {"Native", "blue"},
        [CATEGORY_GIL] = {"GIL wait", "red"},
        [CATEGORY_COLLECTOR] = {"Garbage collection", "purple"},
        [CATEGORY_IDLE] = {"Idle", "transparent"},
    };
    json_open_array(writer, "categories");
    for (size_t i = 0; i < PSC_ARRAY_SIZE(categories); i++) {
        json_open_object(writer, NULL);
        json_put_string(writer, "name", categories[i].name);
        json_put_string(writer, "color", categories[i].color);
        json_open_array(writer, "subcategories");
        json_put_string(writer, NULL, "Other");
        json_close_array(writer);
        json_close_object(writer);
    }
    json_close_array(writer);
}

static void put_marker_schema(struct json_writer *writer, const char *name, const char *what)
{
    static const char *const displays[] = {"marker-chart", "marker-table", "timeline-overview"};
    json_open_object(writer, NULL);
    json_put_string(writer, "name", name);
    json_open_array(writer, "display");
    for (size_t i = 0; i < PSC_ARRAY_SIZE(displays); i++)
        json_put_string(writer, NULL, displays[i]);
    json_close_array(writer);
    json_put_string(writer, "chartLabel", name);
    json_put_string(writer, "tableLabel", "{marker.data.samples} samples");
    json_put_string(writer, "description", what);
    json_open_array(writer, "fields");
    json_open_object(writer, NULL);
    json_put_string(writer, "key", "samples");
    json_put_string(writer, "label", "Samples");
    json_put_string(writer, "format", "integer");
    json_close_object(writer);
    json_close_array(writer);
    json_close_object(writer);
}

static void put_meta(struct firefox *to)
{
    const struct profile *profile = to->profile;
    struct json_writer *writer = to->writer;
    json_open_object(writer, "meta");
    json_put_real(writer, "interval", MS_OF_NS(profile->interval));
    json_put_real(writer, "startTime", MS_OF_NS(profile->start_epoch));
    json_put_integer(writer, "processType", true, 0);
    json_put_string(writer, "product", profile->target ? profile->target : "pystack-core");
    json_put_string(writer, "importedFrom", "pystack-core");
    json_put_integer(writer, "stackwalk", true, profile->merged);
    json_put_boolean(writer, "debug", false);
    json_put_integer(writer, "version", true, GECKO_VERSION);
    json_put_integer(writer, "preprocessedProfileVersion", true, PROCESSED_VERSION);
    json_put_boolean(writer, "symbolicated", true);
    json_put_boolean(writer, "sourceCodeIsNotOnSearchfox", true);
    json_put_boolean(writer, "usesOnlyOneStackType", true);
    json_open_object(writer, "sampleUnits");
    json_put_string(writer, "time", "ms");
    json_put_string(writer, "eventDelay", "ms");
    json_put_string(writer, "threadCPUDelta", "ns");
    json_close_object(writer);
    json_open_object(writer, "extensions");
    json_put_integer(writer, "length", true, 0);
    static const char *const columns[] = {"baseURL", "id", "name"};
    for (size_t i = 0; i < PSC_ARRAY_SIZE(columns); i++) {
        json_open_array(writer, columns[i]);
        json_close_array(writer);
    }
    json_close_object(writer);
    put_categories(writer);
    json_open_array(writer, "markerSchema");
    put_marker_schema(writer, "GIL wait",
                      "Samples after each other in which the thread waited for the GIL.");
    put_marker_schema(writer, "GC", "Samples after each other in the garbage collector.");
    json_close_array(writer);
    json_close_object(writer);
}

static bool is_digits(const char *text)
{
    return strlen(text) >= BREAKPAD_DIGITS &&
           strspn(text, "0123456789abcdefABCDEF") == strlen(text);
}

/*
 * A build-id as Breakpad names it (src/common/linux/file_id.cc): its first 16 bytes as a GUID,
 * three fields of which are little-endian, upper case; and an age, which is 0.
 */
static void add_breakpad_id(const char *build_id, char ret[BREAKPAD_DIGITS + 2])
{
    static const size_t order[BREAKPAD_DIGITS / 2] = {3, 2, 1,  0,  5,  4,  7,  6,
                                                      8, 9, 10, 11, 12, 13, 14, 15};
    bool known = is_digits(build_id);
    for (size_t i = 0; i < BREAKPAD_DIGITS; i++) {
        char digit = known ? build_id[2 * order[i / 2] + i % 2] : '0';
        ret[i] = (char)(digit >= 'a' && digit <= 'f' ? digit - 'a' + 'A' : digit);
    }
    ret[BREAKPAD_DIGITS] = '0';
    ret[BREAKPAD_DIGITS + 1] = '\0';
}

static void put_libraries(struct firefox *to)
{
    const struct profile *profile = to->profile;
    struct json_writer *writer = to->writer;
    json_open_array(writer, "libs");
    for (uint32_t i = 1; i < profile->library_count; i++) {
        const struct profile_library *library = &profile->libraries[i];
        const char *path = profile_string(profile, library->path);
        const char *build_id = profile_string(profile, library->build_id);
        char breakpad_id[BREAKPAD_DIGITS + 2];
        add_breakpad_id(build_id, breakpad_id);
        json_open_object(writer, NULL);
        json_put_string(writer, "arch", "x86_64");
        json_put_string(writer, "name", firefox_library_name(profile, i));
        json_put_string(writer, "path", path);
        json_put_string(writer, "debugName", firefox_library_name(profile, i));
        json_put_string(writer, "debugPath", path);
        json_put_string(writer, "breakpadId", breakpad_id);
        json_put_string(writer, "codeId", *build_id ? build_id : NULL);
        json_close_object(writer);
        printer_flow(to->printer);
    }
    json_close_array(writer);
}

static void put_empty_array(struct json_writer *writer, const char *key)
{
    json_open_array(writer, key);
    json_close_array(writer);
}

static bool put_all(struct firefox *to)
{
    if (!firefox_prepare(to))
        return false;
    struct json_writer *writer = to->writer;
    json_open_object(writer, NULL);
    put_meta(to);
    json_break_line(writer);
    put_libraries(to);
    put_empty_array(writer, "pages");
    put_empty_array(writer, "profilerOverhead");
    put_empty_array(writer, "counters");
    json_break_line(writer);
    firefox_put_shared(to);
    json_break_line(writer);
    bool good = firefox_put_threads(to);
    json_close_object(writer);
    text_add_char(&to->printer->text, '\n');
    return good && !writer->failed;
}

enum psc_status write_firefox(const struct profile *profile, const struct profile_output *output,
                              struct psc_error *err)
{
    struct thread_samples *samples PSC_CLEANUP(cleanup_thread_samples) = NULL;
    enum psc_status status = thread_samples_create(profile, &samples, err);
    if (status != PSC_OK)
        return status;
    struct profile_printer printer = {.output = output};
    struct json_writer writer = {.out = &printer.text};
    struct firefox to = {.profile = profile,
                         .samples = samples,
                         .printer = &printer,
                         .writer = &writer,
                         .other_stacks = HASH_TABLE_OF(struct other_category),
                         .other_frames = HASH_TABLE_OF(struct other_category)};
    if (!put_all(&to))
        printer.status = PSC_ERR_MEMORY;
    hash_table_deinit(&to.other_stacks);
    hash_table_deinit(&to.other_frames);
    free(to.source_of);
    free(to.sources);
    free(to.symbol_of);
    free(to.symbols);
    return psc_fail_status(err, printer_end(&printer));
}
