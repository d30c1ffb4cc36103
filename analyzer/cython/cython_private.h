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
