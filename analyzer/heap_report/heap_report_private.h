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

/* ---- held_ways.c: PSC_HEAP_HOLDERS; findings.c; growth.c; retained_page.c ---- */

enum psc_status holders_put_text(struct heap_page *page, struct psc_error *err);
/** The member paths. */
enum psc_status holders_put_json(struct heap_page *page, struct psc_error *err);

#endif
