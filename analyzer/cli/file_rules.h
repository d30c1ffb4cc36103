/** Which files a parser may ask for, by the options. */
#ifndef PSC_FILE_RULES_H
#define PSC_FILE_RULES_H

#include "options.h"
#include "sandbox.h"

struct file_rules {
    struct sandbox_rules rules; /**< Without owners. */
    const char **folders;
    const char *files[2];
};

/** Keeps its options, and is not moved. false: out of memory. */
bool file_rules_init(struct file_rules *ret, const struct options *options);
void file_rules_deinit(struct file_rules *rules);

#endif
