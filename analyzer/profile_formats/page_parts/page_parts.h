/** @file Room `profile_formats/page_parts`: what the pages have in common. */
#ifndef PSC_PROFILE_PAGE_PARTS_H
#define PSC_PROFILE_PAGE_PARTS_H

#include "printer.h"

struct html_head {
    const char *title;
    const char *style;
    const char *style_hash;  /**< As the page's policy (CSP) names it: "sha256-..." */
    const char *script_hash; /**< NULL: it has none. */
};

/** Everything up to the body's first element. Nothing is loaded, nothing else is run. */
void html_begin(struct text *text, const struct html_head *head);
/** One line about how the profile was made. */
void html_add_summary(struct text *text, const struct profile *profile);

#endif
