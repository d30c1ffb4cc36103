/* Stand-in for glibc's <argp.h>: what a file of libdwfl that is not linked has to see to compile. */
#ifndef PSC_COMPAT_ARGP_H
#define PSC_COMPAT_ARGP_H
#include <errno.h>
#include <stdio.h>
typedef int error_t;
struct argp_state;
struct argp_option {
    const char *name;
    int key;
    const char *arg;
    int flags;
    const char *doc;
    int group;
};
typedef error_t argp_parser_fn(int key, char *arg, struct argp_state *state);
struct argp {
    const struct argp_option *options;
    argp_parser_fn *parser;
    const char *args_doc;
    const char *doc;
    const void *children;
    char *(*help_filter)(int key, const char *text, void *input);
    const char *argp_domain;
};
struct argp_state {
    const struct argp *root_argp;
    int argc, next, arg_num, quoted;
    char **argv;
    unsigned flags;
    void *input;
    void **child_inputs;
    void *hook;
    char *name;
    FILE *err_stream, *out_stream;
    void *pstate;
};
#define OPTION_ARG_OPTIONAL 1
#define OPTION_HIDDEN   2
#define ARGP_KEY_INIT   0x1000003
#define ARGP_KEY_END    0x1000001
#define ARGP_KEY_SUCCESS 0x1000004
#define ARGP_KEY_ERROR  0x1000005
#define ARGP_ERR_UNKNOWN E2BIG
#define ARGP_HELP_SEE   4
#define ARGP_HELP_EXIT_ERR 0x100
void argp_error(const struct argp_state *state, const char *format, ...);
void argp_failure(const struct argp_state *state, int status, int number, const char *format, ...);
void argp_help(const struct argp *argp, FILE *file, unsigned flags, char *name);
void argp_state_help(const struct argp_state *state, FILE *file, unsigned flags);
#endif
