/** Shared by the files of room `heap_report` only. */
#ifndef PSC_HEAP_REPORT_PRIVATE_H
#define PSC_HEAP_REPORT_PRIVATE_H

#include "heap_report.h"
#include "json_writer.h"

/** A report that is being made. */
struct heap_page {
    struct heap_view *view;
    const struct psc_heap_print_options *options;
    struct text *out;         /**< Of text. */
    struct json_writer *json; /**< Of JSON; members of its object are added. */
};

/* ---- overview.c: totals, layers, types ---- */

/**
 * What each type's objects retain together, see holders.h: type_count numbers; NULL: not known.
 * Made when it is first asked for.
 */
const uint64_t *heap_page_type_retained(struct heap_page *page);

enum psc_status overview_put_text(struct heap_page *page, struct psc_error *err);
/** The members objects, bytes, types, layers. */
enum psc_status overview_put_json(struct heap_page *page, struct psc_error *err);

/* ---- listed_objects.c: PSC_HEAP_LARGEST, PSC_HEAP_LISTED; one_object.c: PSC_HEAP_OBJECT ---- */

enum psc_status largest_put_text(struct heap_page *page, struct psc_error *err);
enum psc_status largest_put_json(struct heap_page *page, struct psc_error *err);
enum psc_status listed_put_text(struct heap_page *page, struct psc_error *err);
enum psc_status listed_put_json(struct heap_page *page, struct psc_error *err);
enum psc_status object_put_text(struct heap_page *page, struct psc_error *err);
enum psc_status object_put_json(struct heap_page *page, struct psc_error *err);

/* ---- shared_parts.c ---- */

/** Who holds what; made when it is first asked for. */
enum psc_status heap_page_holders(struct heap_page *page, struct holders **ret);
/** "35.2 MB"; exact below a kilobyte. */
void heap_add_bytes(struct text *text, uint64_t bytes);
/** The value of an object as python.h has it, on one line, escaped, at most `limit` bytes. */
void heap_add_value(struct heap *heap, uint32_t object, size_t limit, struct text *text);

/* ---- held_ways.c: PSC_HEAP_HOLDERS ---- */

enum psc_status held_ways_put_text(struct heap_page *page, struct psc_error *err);
/** The member paths. */
enum psc_status held_ways_put_json(struct heap_page *page, struct psc_error *err);
/** An array of steps, the outermost first, as the member `key`. */
enum psc_status held_way_put_json(struct heap_page *page, const char *key, uint32_t node,
                                  uint64_t objects);
/** The way to a node as one line. */
enum psc_status held_way_add_line(struct heap_page *page, uint32_t node, struct text *text);

/* ---- heap_findings.c: PSC_HEAP_FINDINGS ---- */

enum psc_status heap_findings_put_text(struct heap_page *page, size_t *ret_count,
                                       struct psc_error *err);
/** The member findings. */
enum psc_status heap_findings_put_json(struct heap_page *page, size_t *ret_count,
                                       struct psc_error *err);

/* ---- growth.c: PSC_HEAP_GROWTH ---- */

enum psc_status growth_put_text(struct heap_page *page, struct heap_view *older,
                                struct psc_error *err);
/** The member growth. */
enum psc_status growth_put_json(struct heap_page *page, struct heap_view *older,
                                struct psc_error *err);

/* ---- suspects_report.c: what retains more than a tenth ---- */

enum psc_status suspects_put_text(struct heap_page *page, struct psc_error *err);
/** The members suspects, retained and garbage. */
enum psc_status suspects_put_json(struct heap_page *page, struct psc_error *err);

/* ---- retained_page.c ---- */

enum psc_status retained_page_put(struct heap_page *page, struct psc_error *err);

#endif
