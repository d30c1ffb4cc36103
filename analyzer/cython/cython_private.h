/**
 * @file
 * Shared by the files of cython/ that stand above its rooms: what is known of one module, and the
 * questions about its machine code.
 */
#ifndef PSC_CYTHON_PRIVATE_H
#define PSC_CYTHON_PRIVATE_H

#include "lines.h"
#include "names.h"
#include "reports.h"

/** What is known of one module, each part made when it is first asked for. */
struct cython_module {
    struct module *module;
    struct cython_names names;
    bool names_read;
    const char *module_name;
    bool module_name_known;
    struct kept_code *code; /**< That of the module; NULL: not asked for yet. */
};

/** What is kept of a module's machine code: it is made once, and answers are kept, too. */
struct kept_code;
/** That of a module, made where it is not known yet; NULL: out of memory. */
struct kept_code *cython_code_of(struct module *module);
/** NULL: not made by Cython. */
struct reports *kept_code_reports(const struct kept_code *code);
/** What it answers at an address of the file; false: it was not learned. */
bool kept_code_find(const struct kept_code *code, uint64_t address, struct arena *arena,
                    struct cython_code *ret, size_t limit, size_t *ret_count);
/** The same of cython_is_own_code(). */
bool kept_code_find_helper(const struct kept_code *code, uint64_t address, bool *ret);

/* ---- files of the building machine ---- */

/** The lines of one generated C file, as far as they were found. */
struct generated_lines {
    const char *c_file;         /**< As debug information names it. */
    struct cython_lines *lines; /**< NULL: looked for and not there. */
    bool xml;                   /**< From Cython's debug XML, not from the C file. */
    const char *local;          /**< The file that they are of; NULL. */
    const char *home;           /**< What the target calls that; NULL: nothing. */
    const char *needed;         /**< Where any machine looks for it first; NULL: no memory. */
    const char *other;          /**< A file of another build; NULL. */
};
/**
 * Looks for the lines of ret->c_file; all else of `ret` is zero before.
 * @param reports  of the module's code; may be NULL.
 */
void cython_generated_lines_find(struct cython_module *known, struct reports *reports,
                                 struct arena *arena, struct generated_lines *ret);
/** Tells the module's target what was found: a file that it needs, or a warning. */
void cython_generated_lines_tell(struct module *module, const struct generated_lines *found);

/** Where sources are: a table of what was looked for. Initialise with cython_sources_init(). */
void cython_sources_init(struct hash_table *sources);
/** NULL: it was not looked for. */
const struct cython_place *cython_sources_find(const struct hash_table *sources,
                                               const struct cython_source *source);

/** NULL also where rights were missing, so that another target may find it elsewhere. */
const struct cython_place *cython_sources_find_certain(const struct hash_table *sources,
                                                       const struct cython_source *source);
/**
 * Looks for one that is not in the table.
 * @param kept  where somebody else has found it; NULL: that is not known.
 * @param keep  of what the table has.
 * @return NULL: out of memory.
 */
const struct cython_place *cython_sources_add(struct hash_table *sources,
                                              const struct cython_source *source,
                                              const struct cython_place *kept, struct arena *keep);

/** What the keeper of the module's code has found; NULL: that has to be looked for. */
const struct generated_lines *kept_code_find_lines(const struct kept_code *code,
                                                   const struct module *module, const char *c_file);
const struct cython_place *kept_code_find_source(const struct cython_source *source);

void cython_module_deinit(struct cython_module *known);
bool cython_module_name_of(struct cython_module *known, const char *symbol, struct arena *arena,
                           struct arena *keep, struct cython_name *ret);
const char *cython_module_get_name(struct cython_module *known, struct arena *keep);

/** Questions about the machine code of a module, in the file's own addresses. */
struct code_question {
    struct reports *reports;
    const char *module;  /**< Its dotted name; NULL: not known. */
    struct arena *arena; /**< Of the answers' strings. */
};

/** cython_cache_find_code(). */
size_t cython_functions_at(const struct code_question *question, uint64_t pc,
                           struct cython_code *ret, size_t limit);
/**
 * A line for a `pc` that tells none itself: that of the last call that `function` has made for
 * certain when it comes to `pc`, and whose failure it reports. In the body of a parallel block,
 * where one without such counts from the last before the block, half way from there to the next.
 * @param next      the next line that may be reported; 0: not known.
 * @param ret_file  is set when the line tells its file.
 * @return 0 when there is none.
 */
uint32_t cython_estimate_line(const struct code_question *question, const char *function,
                              uint64_t pc, uint32_t next, const char **ret_file);
/** cython_cache_is_helper(). */
bool cython_is_own_code(struct flow *flow, uint64_t pc);

/**
 * Whether C lines of a map are those that the module was compiled from: functions begin where the
 * debug information says, and errors report the lines that stand there.
 * @param reports  may be NULL.
 * @param text     the C file; empty for debug XML, of which only the map is compared.
 */
bool cython_matches_build(struct module *module, struct reports *reports, const char *c_file,
                          struct slice text, const struct cython_lines *map);

#endif
