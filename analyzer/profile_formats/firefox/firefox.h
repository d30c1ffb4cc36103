/** @file Room `profile_formats/firefox`: for profiler.firefox.com. */
#ifndef PSC_PROFILE_FIREFOX_H
#define PSC_PROFILE_FIREFOX_H

#include "profile_formats.h"

/**
 * Firefox Profiler's processed format, version 66 (github.com/firefox-devtools/profiler,
 * src/types/profile.ts and docs-developer/CHANGELOG-formats.md), which later ones upgrade.
 */
profile_write_fn write_firefox;

#endif
