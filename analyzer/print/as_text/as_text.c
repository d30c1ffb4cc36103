#include "as_text_private.h"

enum psc_status print_text(const struct psc_trace *trace, const struct psc_print_options *options,
                           struct print_sink *sink)
{
    print_text_header(trace, options, sink);
    enum psc_status status = print_text_threads(trace, options, sink);
    return status == PSC_OK ? print_text_tasks(trace, false, options, sink) : status;
}
