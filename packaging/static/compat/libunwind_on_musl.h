/* libunwind asks for glibc's version with a macro that glibc alone has; included before each of its files. */
#ifndef __GLIBC_PREREQ
#define __GLIBC_PREREQ(major, minor) 0
#endif
