/* What Python.h asks about 64-bit Windows where only the stable ABI is used: sizes of LLP64, and where symbols are.
 *
 * The headers of the Python that cross-compiles are for the machine that it runs on; all of them serve for another but
 * pyconfig.h, which tools/wheels.py takes this file for. Compilers are those of MinGW-w64: gcc, clang or zig. */
#ifndef Py_CONFIG_H
#define Py_CONFIG_H

#if !defined(_WIN64) || !defined(__MINGW32__) || !defined(Py_LIMITED_API)
#error "This pyconfig.h is for 64-bit Windows, compilers of MinGW-w64 and the stable ABI."
#endif

#define MS_WIN32
#define MS_WIN64
#define MS_WINDOWS
#define NT_THREADS 1
#define WITH_THREAD 1

/* Symbols are imported from python3.dll. */
#define HAVE_DECLSPEC_DLL 1
#define Py_ENABLE_SHARED 1

#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_VOID_P 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_PID_T 4
#define ALIGNOF_MAX_ALIGN_T 8

#define HAVE_LONG_LONG 1
#define HAVE_SSIZE_T 1
#define HAVE_STDDEF_H 1
#define HAVE_WCHAR_H 1
#define HAVE_USABLE_WCHAR_T 1

#endif
