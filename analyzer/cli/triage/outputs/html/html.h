/**
 * @file
 * Room `cli/triage/outputs/html`: one page that needs nothing else, for people.
 *
 * Text of a target is escaped everywhere, and the page's policy (Content-Security-Policy, CSP 3)
 * lets nothing run or load but the script and the style that are written here.
 */
#ifndef PSC_TRIAGE_HTML_H
#define PSC_TRIAGE_HTML_H

#include "outputs.h"

write_result_fn write_html;

#endif
