# Every outside library, once, as an imported target. Debian 12 names in README.md.
# PSC_STATIC takes all of them from the folder that packaging/static/libraries has made.
find_package(PkgConfig REQUIRED)
if(PSC_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()
# An archive that is position independent, as all of Debian's are here, spares a program that starts
# libraries to load. A distribution's packages are to load them.
option(PSC_PREFER_ARCHIVES "Link archives where there is a shared library as well" ON)
macro(psc_find_library variable name)
  if(PSC_PREFER_ARCHIVES)
    find_library(${variable} NAMES lib${name}.a ${name} ${ARGN})
  else()
    find_library(${variable} NAMES ${name} ${ARGN})
  endif()
endmacro()
pkg_check_modules(ELF REQUIRED IMPORTED_TARGET libelf)
pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw)
# For .gnu_debugdata; libdw needs it itself.
pkg_check_modules(LZMA REQUIRED IMPORTED_TARGET liblzma)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(CAPSTONE REQUIRED IMPORTED_TARGET capstone)

# SHA-256 for signatures.
find_path(NETTLE_INCLUDE nettle/sha2.h REQUIRED)
psc_find_library(NETTLE_LIBRARY nettle REQUIRED)
add_library(psc_nettle INTERFACE)
target_include_directories(psc_nettle INTERFACE ${NETTLE_INCLUDE})
target_link_libraries(psc_nettle INTERFACE ${NETTLE_LIBRARY})

# Loaded when an archive is written or read; a program without a dynamic linker has it linked.
pkg_check_modules(ARCHIVE REQUIRED IMPORTED_TARGET libarchive>=3.3.3)
option(PSC_LINK_LIBARCHIVE "Link libarchive to the program, as a static one needs it" OFF)

# The same of JUnit files.
pkg_check_modules(XML2 REQUIRED IMPORTED_TARGET libxml-2.0)
option(PSC_LINK_LIBXML2 "Link libxml2 to the program, as a static one needs it" OFF)

# The terminal. Debian's needs the terminal descriptions' half beside it, one that was built whole
# does not.
find_path(NCURSES_INCLUDE ncursesw/curses.h REQUIRED)
psc_find_library(NCURSES_LIBRARY ncursesw REQUIRED)
psc_find_library(TINFO_LIBRARY tinfo)
add_library(psc_ncurses INTERFACE)
target_include_directories(psc_ncurses INTERFACE ${NCURSES_INCLUDE})
target_link_libraries(psc_ncurses INTERFACE ${NCURSES_LIBRARY})
if(TINFO_LIBRARY)
  target_link_libraries(psc_ncurses INTERFACE ${TINFO_LIBRARY})
endif()

# libunwind-coredump.so is under-linked: it needs the other two named after it.
find_path(UNWIND_COREDUMP_INCLUDE libunwind-coredump.h REQUIRED)
find_library(UNWIND_COREDUMP_LIBRARY unwind-coredump REQUIRED)
find_library(UNWIND_ARCH_LIBRARY unwind-x86_64 REQUIRED)
find_library(UNWIND_LIBRARY unwind REQUIRED)
add_library(psc_unwind INTERFACE)
target_include_directories(psc_unwind INTERFACE ${UNWIND_COREDUMP_INCLUDE})
target_link_libraries(psc_unwind INTERFACE
  ${UNWIND_COREDUMP_LIBRARY} ${UNWIND_ARCH_LIBRARY} ${UNWIND_LIBRARY})

# Demangling of C++ and Rust; the archive is position independent in Debian.
find_path(IBERTY_INCLUDE libiberty/demangle.h REQUIRED)
find_library(IBERTY_LIBRARY iberty REQUIRED)
add_library(psc_iberty INTERFACE)
target_include_directories(psc_iberty INTERFACE ${IBERTY_INCLUDE})
target_link_libraries(psc_iberty INTERFACE ${IBERTY_LIBRARY})

# What archives need in turn is not in pkg-config's imported targets.
add_library(psc_static INTERFACE)
if(PSC_STATIC)
  set(PSC_LINK_LIBARCHIVE ON)
  set(PSC_LINK_LIBXML2 ON)
  target_link_options(psc_static INTERFACE -static -Wl,--gc-sections)
  target_link_libraries(psc_static INTERFACE ${ARCHIVE_STATIC_LDFLAGS} ${XML2_STATIC_LDFLAGS}
    ${DW_STATIC_LDFLAGS}
    ${ELF_STATIC_LDFLAGS})
endif()
