/** What the program says on standard error: one line each. */
#ifndef PSC_COMPLAIN_H
#define PSC_COMPLAIN_H

/** Whatever bytes a target's names hold: control characters cannot act. */
void complain(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
/** Of a wrong command line: says where help is. */
void complain_of_usage(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
/** "LABEL: MESSAGE", or MESSAGE alone where it begins with the label. */
void complain_about(const char *label, const char *message);

#endif
