/**
 * @file
 * Files that become shorter while they are read. Cores, modules and sources are mapped: the kernel
 * answers the access to a page behind the new end with SIGBUS (mmap(2)).
 */
#ifndef PSC_SHRUNK_FILES_H
#define PSC_SHRUNK_FILES_H

/**
 * From now on such an access ends the program with a sentence that names the file, and with
 * EXIT_NOTHING. A living process runs on, as it does whenever its tracer ends. For the program
 * alone: what a signal does is the business of the program, not of the library.
 */
void shrunk_files_watch(void);

#endif
