/** Text of a target in a page; of room `heap_report` only. */
#ifndef PSC_HTML_ESCAPE_H
#define PSC_HTML_ESCAPE_H

#include "base.h"

/** Nothing of it is markup, drives anything, or turns other text around. */
void html_add_escaped(struct text *out, const char *text);

#endif
