// SPDX-License-Identifier: Apache-2.0
/*
 * An init whose processes and threads have different values in all vector registers. System calls switch between the
 * processes and threads, and the values in their registers must stay the same. The tests compile this file: gcc -O1
 * -static.
 *
 * A token passes through a ring of pipes between four processes. The last process has three further threads. Each
 * member of the ring fills its registers, reads the token, passes it on, and checks its registers. While one member
 * waits for the token, all others run with different values in their registers. In each round, the first member sends a
 * signal to the others while they wait for the token. The handler of this signal overwrites the registers.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES 4
#define THREADS 3
#define MEMBERS (PROCESSES + THREADS)
#define ROUNDS 200

enum width { SSE = 16, AVX = 32, AVX512 = 64 };

struct vectors {
	unsigned char v[32][64];
	unsigned long mask[8];
};

static int pipes[MEMBERS][2];
static enum width width;

/* Loads the registers, makes the system calls read(from, token, 1) and write(to, token, 1), and stores the registers */
#define PASS(load, store, clobbers...)                                                                      \
	asm volatile(load                                                                                   \
		     "mov %[from], %%rdi\n mov %[token], %%rsi\n mov $1, %%edx\n xor %%eax, %%eax\n syscall\n" \
		     "cmp $1, %%rax\n jne 1f\n"                                                              \
		     "mov %[to], %%rdi\n mov %[token], %%rsi\n mov $1, %%edx\n mov $1, %%eax\n syscall\n"     \
		     "1: mov %%rax, %[result]\n" store                                                       \
		     : [result] "=&r"(result)                                                                \
		     : [in] "r"(in), [out] "r"(out), [from] "r"((long)from), [to] "r"((long)to), [token] "r"(token) \
		     : "rax", "rcx", "rdx", "rdi", "rsi", "r11", "cc", "memory", ##clobbers)

#define LOW "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define HIGH "16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"

static long pass_sse(const struct vectors *in, struct vectors *out, int from, int to, char *token)
{
	long result;

	PASS(".irp n," LOW "\n movdqu \\n*64(%[in]), %%xmm\\n\n .endr\n",
	     ".irp n," LOW "\n movdqu %%xmm\\n, \\n*64(%[out])\n .endr\n", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
	     "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	return result;
}

__attribute__((target("avx"))) static long pass_avx(const struct vectors *in, struct vectors *out, int from, int to,
						    char *token)
{
	long result;

	PASS(".irp n," LOW "\n vmovdqu \\n*64(%[in]), %%ymm\\n\n .endr\n",
	     ".irp n," LOW "\n vmovdqu %%ymm\\n, \\n*64(%[out])\n .endr\n vzeroupper\n", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
	     "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	return result;
}

__attribute__((target("avx512f,avx512bw"))) static long pass_avx512(const struct vectors *in, struct vectors *out, int from,
								    int to, char *token)
{
	long result;

	PASS(".irp n," LOW "," HIGH "\n vmovdqu64 \\n*64(%[in]), %%zmm\\n\n .endr\n"
	     ".irp n,0,1,2,3,4,5,6,7\n kmovq 2048+\\n*8(%[in]), %%k\\n\n .endr\n",
	     ".irp n," LOW "," HIGH "\n vmovdqu64 %%zmm\\n, \\n*64(%[out])\n .endr\n"
	     ".irp n,0,1,2,3,4,5,6,7\n kmovq %%k\\n, 2048+\\n*8(%[out])\n .endr\n vzeroupper\n", "xmm0", "xmm1", "xmm2",
	     "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
	     "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27",
	     "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7");
	return result;
}

static volatile sig_atomic_t interrupted;

static void overwrite(int number)
{
	(void)number;
	asm volatile(".irp n," LOW "\n pcmpeqd %%xmm\\n, %%xmm\\n\n .endr\n" ::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
		     "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	interrupted = 1;
}

/* Returns whether a member of the ring found its own values after each of its turns */
static int ring(int member)
{
	int from = pipes[member][0], to = pipes[(member + 1) % MEMBERS][1];
	int registers = width == AVX512 ? 32 : 16;
	struct vectors in, out;
	char token;

	for (int round = 0; round < ROUNDS; round++) {
		long result;

		for (size_t i = 0; i < sizeof(in); i++)
			((unsigned char *)&in)[i] = (unsigned char)(member * 37 + round * 11 + i * 3 + i / 64);
		memset(&out, 0, sizeof(out));
		/* The signal reaches all processes except init and the sender */
		if (member == 0 && kill(-1, SIGUSR1))
			return 0;
		result = width == AVX512 ? pass_avx512(&in, &out, from, to, &token) :
			 width == AVX	 ? pass_avx(&in, &out, from, to, &token) :
					   pass_sse(&in, &out, from, to, &token);
		/* after the token's last pass, the member that gets the token no longer reads it */
		if (result != 1)
			return 0;
		for (int n = 0; n < registers; n++)
			if (memcmp(in.v[n], out.v[n], width))
				return 0;
		if (width == AVX512 && memcmp(in.mask, out.mask, sizeof(in.mask)))
			return 0;
	}
	return 1;
}

static void *thread(void *member)
{
	return (void *)(long)ring((int)(long)member);
}

static int process(int number)
{
	pthread_t threads[THREADS];
	void *good;
	int all;

	if (number != PROCESSES - 1)
		return ring(number) && (number == 0 || interrupted);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)(long)(PROCESSES + i)))
			return 0;
	all = ring(number);
	for (int i = 0; i < THREADS; i++)
		all &= !pthread_join(threads[i], &good) && good;
	return all && interrupted;
}

int main(void)
{
	struct sigaction action = { .sa_handler = overwrite, .sa_flags = SA_RESTART };
	char end[200];
	int file, status, good = 0;

	__builtin_cpu_init();
	width = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") ? AVX512 :
		__builtin_cpu_supports("avx") ? AVX : SSE;
	mkdir("/host", 0755);
	if (mount("none", "/host", "hostfs", 0, NULL))
		return 5;
	for (int member = 0; member < MEMBERS; member++)
		if (pipe(pipes[member]))
			return 6;
	if (sigaction(SIGUSR1, &action, NULL))
		return 8;
	for (int number = 0; number < PROCESSES; number++)
		if (!fork())
			_exit(process(number) ? 0 : 1);
	if (write(pipes[0][1], "t", 1) != 1)
		return 7;
	for (int number = 0; number < PROCESSES; number++)
		good += wait(&status) > 0 && status == 0;
	snprintf(end, sizeof(end), "{\"ok\": true, \"virtual_ns\": 0, \"warnings\": [], \"kept\": %d, \"width_bytes\": %d}\n", good,
		 width);
	file = open("/host/out/end.json", O_CREAT | O_WRONLY | O_TRUNC, 0644);
	if (file < 0 || write(file, end, strlen(end)) < 0 || close(file))
		return 4;
	sync();
	reboot(RB_POWER_OFF);
}
