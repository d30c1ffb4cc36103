/** Shared by the files of room `cli/triage/outputs/html` only. */
#ifndef PSC_TRIAGE_HTML_PRIVATE_H
#define PSC_TRIAGE_HTML_PRIVATE_H

#include "facts.h"
#include "html.h"

/* page.css and page.js. */
extern const char page_style[];
extern const char page_script[];

/* ---- html_text.c ---- */

/** Text of a target: nothing of it is markup, drives anything, or turns other text around. */
void put_html(FILE *file, const char *text);
void put_html_bytes(FILE *file, const char *text, size_t size);
/** "<TAG class=CLASS>TEXT</TAG>"; nothing where there is no text. */
void put_element(FILE *file, const char *tag, const char *classes, const char *text);

/* ---- html_stack.c ---- */

/** The frames of a thread, the innermost first. */
void put_stack(FILE *file, const struct triage_result *result, const json_t *thread);
/** "file.py:12", of the repository where it is there. */
void put_frame_place(FILE *file, const struct triage_result *result, const json_t *frame);
/** All threads but the one that died, those with equal stacks once. */
void put_other_threads(FILE *file, const struct triage_result *result, const json_t *report);
/** What a thread is called, does and waits for. */
void put_thread_words(FILE *file, const json_t *thread);

#endif
