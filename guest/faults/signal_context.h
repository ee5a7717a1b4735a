/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The machine context of a signal. Since Linux 6.16, the context is the last argument of arch/um's signal handlers,
 * which have no such argument in older kernels.
 *
 * AND_CONTEXT ends the parameters of a handler's declaration, and WITH_CONTEXT ends the arguments of a call.
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
