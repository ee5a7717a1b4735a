/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine context of a signal, as an argument of arch/um's signal handlers. Since Linux 6.16, the context is the
 * last argument; in older kernels, the handlers do not have this argument.
 *
 * The macro AND_CONTEXT ends the list of parameters in a handler's declaration, and the macro WITH_CONTEXT ends the
 * list of arguments in a call.
 */
#ifndef LEOWARP_SIGNAL_CONTEXT_H
#define LEOWARP_SIGNAL_CONTEXT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define AND_CONTEXT
#define WITH_CONTEXT
#else
#define AND_CONTEXT , void *mc
#define WITH_CONTEXT , mc
#endif

#endif
