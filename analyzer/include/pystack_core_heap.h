/** @file pystack-core: what fills the memory, who holds it, what is damaged. Included by
 * pystack_core.h. */
#ifndef PYSTACK_CORE_HEAP_H
#define PYSTACK_CORE_HEAP_H

#include "pystack_core_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** All objects and blocks of memory of a process. Opaque. */
struct psc_heap;

/** Begin with PSC_HEAP_OPTIONS_INIT; NULL means all defaults. */
struct psc_heap_options {
    uint32_t size; /**< sizeof(struct psc_heap_options) */
    uint32_t reserved;
    /** Told when a stage of the work begins, as "references"; may be NULL. */
    void (*progress)(void *context, const char *stage);
    void *progress_context;
};
#define PSC_HEAP_OPTIONS_INIT                          \
    {                                                  \
        sizeof(struct psc_heap_options), 0, NULL, NULL \
    }

/**
 * Reads all objects, from memory alone; nothing of the process is called.
 * @param target  a core file with the memory of the heap, or a process that a debugger holds. One
 *                that runs on is PSC_ERR_UNSUPPORTED. It is used until psc_heap_close().
 * @return PSC_ERR_UNSUPPORTED: an interpreter or allocator that is not read; the message names it.
 *         PSC_ERR_NOT_FOUND: there is no Python, or the core has no heap.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_heap_open(struct psc_target *target,
                                                     const struct psc_heap_options *options,
                                                     struct psc_heap **ret, struct psc_error *err);
/** Before psc_close() of its target. */
PSC_API void psc_heap_close(struct psc_heap *heap);

enum psc_heap_format {
    PSC_HEAP_TEXT = 0,
    PSC_HEAP_JSON = 1, /**< schema/pystack-core-heap-1.schema.json */
    PSC_HEAP_HTML = 2  /**< One page with the tree of retained sizes. */
};

/** What is shown. In text each takes the place of the overview; in JSON each adds its members. */
enum psc_heap_content {
    PSC_HEAP_LARGEST = 1,   /**< The largest objects. */
    PSC_HEAP_LISTED = 2,    /**< The objects of `type`, or those for which `where` holds. */
    PSC_HEAP_OBJECT = 4,    /**< The one at `object`: value, owner, referrers, references. */
    PSC_HEAP_HOLDERS = 8,   /**< The ways from named roots to `held`. */
    PSC_HEAP_FINDINGS = 16, /**< What is damaged. */
    PSC_HEAP_GROWTH = 32    /**< What has grown since `older`. */
};

/** Begin with PSC_HEAP_PRINT_OPTIONS_INIT; NULL means all defaults. */
struct psc_heap_print_options {
    uint32_t size; /**< sizeof(struct psc_heap_print_options) */
    enum psc_heap_format format;
    uint32_t contents; /**< enum psc_heap_content bits; 0: the overview. */
    uint32_t limit;    /**< Rows of a table, objects of a list; 0: as many as by default. */
    const char *type;  /**< "module.Class" */
    const char *where; /**< An expression on each object's attributes. */
    psc_addr object;
    const char *held; /**< An address (0x...) or a type. */
    struct psc_heap *older;
    uint32_t color;    /**< ANSI colours (text only). */
    uint32_t one_line; /**< No line break but the last (JSON only). */
};
#define PSC_HEAP_PRINT_OPTIONS_INIT                                                               \
    {                                                                                             \
        sizeof(struct psc_heap_print_options), PSC_HEAP_TEXT, 0, 0, NULL, NULL, 0, NULL, NULL, 0, \
            0                                                                                     \
    }

/**
 * Writes it in one of the formats.
 * @param ret_findings  how many damages were found, with PSC_HEAP_FINDINGS; may be NULL.
 * @return PSC_ERR_NOT_FOUND: no such object or type is there; PSC_ERR_IO when `write` stopped it.
 */
PSC_MUST_CHECK PSC_API enum psc_status psc_heap_print(struct psc_heap *heap,
                                                      const struct psc_heap_print_options *options,
                                                      psc_write_fn write, void *context,
                                                      size_t *ret_findings, struct psc_error *err);

/** Whether all was there to be read; else psc_heap_warning() says what was not. */
PSC_API int psc_heap_is_complete(const struct psc_heap *heap);
PSC_API size_t psc_heap_warning_count(const struct psc_heap *heap);
/** NULL out of range; the heap's. */
PSC_API const char *psc_heap_warning(const struct psc_heap *heap, size_t index);

#ifdef __cplusplus
}
#endif
#endif
