/* The lines of generated C, or of the debug XML beside it: looked for on this machine. */
#include "cython_private.h"

#include <errno.h>
#include <unistd.h>

/* Larger files are not generated C. */
#define C_FILE_SIZE_LIMIT ((size_t)256 * 1024 * 1024)

/** The search for the lines of one C file. */
struct lines_search {
    struct module *module;
    struct reports *reports;
    struct generated_lines *found;
    bool xml;
    struct arena *arena; /**< Of paths that are kept. */
};

/** Whether errors may stand in a file that was included: its name is a string of the module's. */
static bool names_include(const struct module *module)
{
    static const char ending[] = ".pxi";
    return module->image && memmem(module->image, module->image_size, ending, sizeof(ending));
}

/** Takes the lines of a file's bytes when they are the module's. */
static void take_lines(struct lines_search *search, const char *path, struct slice text)
{
    struct cython_lines *lines = NULL;
    enum psc_status status = search->xml ? parse_cython_xml(text.data, text.size, &lines)
                                         : parse_cython_lines(text.data, text.size, &lines);
    if (status != PSC_OK)
        return;
    if (!cython_lines_has_files(lines) && names_include(search->module)) {
        cython_lines_destroy(lines);
        return;
    }
    struct slice c_text = search->xml ? (struct slice){"", 0} : text;
    struct generated_lines *found = search->found;
    if (!cython_lines_is_empty(lines) &&
        cython_matches_build(search->module, search->reports, found->c_file, c_text, lines)) {
        found->lines = lines;
        found->xml = search->xml;
        found->local = arena_strdup(search->arena, path);
        return;
    }
    if (!cython_lines_is_empty(lines))
        found->other = arena_strdup(search->arena, path);
    cython_lines_destroy(lines);
}

static bool visit_lines(void *context, const char *path)
{
    struct lines_search *search = context;
    struct target *target = modules_target(search->module->owner);
    int fd = target_open_local(target, path);
    if (fd < 0) {
        target->refused += errno == EACCES;
        return false;
    }
    size_t size;
    char *text PSC_CLEANUP(cleanup_free) = file_bytes_read(fd, C_FILE_SIZE_LIMIT, &size);
    close(fd);
    if (text)
        take_lines(search, path, (struct slice){text, size});
    return search->found->lines;
}

/* In the list of all files; the generated C stands for both where neither is at hand. */
static void find_need(const struct lines_search *search, const char *module_name)
{
    struct generated_lines *found = search->found;
    struct target *target = modules_target(search->module->owner);
    const char *name = found->c_file;
    found->home = found->local ? target_home_of(target, found->local) : NULL;
    found->needed = found->home;
    if (!found->home && found->local && search->xml)
        name = arena_printf(search->arena, "cython_debug/cython_debug_info_%s", module_name);
    if (!found->home && name)
        found->needed = cython_home_of(search->module, name, search->arena);
}

void cython_generated_lines_find(struct cython_module *known, struct reports *reports,
                                 struct arena *arena, struct generated_lines *ret)
{
    struct module *module = known->module;
    struct lines_search search = {
        .module = module, .reports = reports, .found = ret, .arena = arena};
    struct cython_file_search files = {module, ret->c_file, arena, visit_lines, &search};
    cython_each_c_file(&files);
    const char *name = ret->lines ? NULL : cython_module_get_name(known, arena);
    if (name) {
        search.xml = true;
        cython_each_xml(&files, name);
    }
    find_need(&search, name);
}

void cython_generated_lines_tell(struct module *module, const struct generated_lines *found)
{
    struct target *target = modules_target(module->owner);
    if (found->home)
        target_add_home(target, found->local, found->home);
    if (found->needed)
        target_need_file(target, &(struct target_needed_file){.kind = TARGET_NEED_CYTHON,
                                                              .path = found->needed,
                                                              .local = found->local});
    if (found->other && !found->lines)
        target_warn(target, "cython-source-mismatch",
                    "%s: not of the build of %s; its lines are not used", found->other,
                    module->path);
}
