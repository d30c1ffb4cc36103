/* The public call that reads a report back. */
#include "report.h"

enum psc_status psc_read_report(const char *text, size_t size, size_t *ret_used,
                                struct psc_trace **ret, struct psc_error *err)
{
    if ((!text && size) || !ret_used || !ret)
        return psc_fail(err, PSC_ERR_ARGUMENT, "psc_read_report: text, ret_used or ret is NULL");
    return parse_report(text ? text : "", size, ret_used, ret, err);
}
