/**
 * @file
 * Room `report`: a report that was written as JSON, read back.
 */
#ifndef PSC_REPORT_H
#define PSC_REPORT_H

#include "trace.h"

/**
 * Reads one report (schema pystack-core/1) at the beginning of some text. What a summary of many
 * processes needs is taken: what was looked at, how it died, rank and host, threads with their
 * frames. The text may be anything.
 * @param ret_used  how many bytes the report took, white space before it with it; all of them when
 *                  there is nothing else.
 * @param ret       NULL: there was only white space. Else to be freed by trace_destroy().
 * @return PSC_ERR_FORMAT, with a sentence that says where and what.
 */
PSC_MUST_CHECK enum psc_status parse_report(const char *text, size_t size, size_t *ret_used,
                                            struct psc_trace **ret, struct psc_error *err);

#endif
