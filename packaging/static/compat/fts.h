/* Stand-in for <fts.h>: what a file of libdwfl that is not linked (kernel modules) has to see to compile. */
#ifndef PSC_COMPAT_FTS_H
#define PSC_COMPAT_FTS_H
#include <sys/stat.h>
typedef struct {
    int fts_options;
} FTS;
typedef struct _ftsent {
    int fts_info, fts_errno;
    short fts_level;
    char *fts_accpath, *fts_path, *fts_name;
    size_t fts_pathlen, fts_namelen;
    struct stat *fts_statp;
} FTSENT;
enum { FTS_LOGICAL = 2, FTS_NOSTAT = 8, FTS_SKIP = 4 };
enum { FTS_D = 1, FTS_DC, FTS_DEFAULT, FTS_DNR, FTS_DOT, FTS_DP, FTS_ERR, FTS_F, FTS_INIT, FTS_NS, FTS_NSOK, FTS_SL, FTS_SLNONE };
FTS *fts_open(char *const *paths, int options, int (*compare)(const FTSENT **, const FTSENT **));
FTSENT *fts_read(FTS *fts);
int fts_set(FTS *fts, FTSENT *entry, int option);
int fts_close(FTS *fts);
#endif
