/* One thread decodes frames, another encodes them, and semaphores count the frames and the room between them.
 * The fault: who encodes returns when a frame is damaged, and who decodes waits for room. */
#include "beside.h"

#include <pthread.h>
#include <semaphore.h>

sem_t frames, room;
int queue[8], put, taken;

void put_frame(int frame)
{
	sem_wait(&room); /* FAULT */
	queue[put++ % 8] = frame;
	sem_post(&frames);
}

void *decode_frames(void *unused)
{
	for (int frame = 0; frame < 400; frame++) {
		work(20);
		put_frame(frame == 250 ? -1 : frame);
	}
	return unused;
}

void *encode_frames(void *unused)
{
	for (int i = 0; i < 400; i++) {
		sem_wait(&frames);
		if (queue[taken++ % 8] < 0) {
			ready();
			break;
		}
		work(20);
		sem_post(&room);
	}
	return unused;
}

int main(void)
{
	pthread_t decoder, encoder;

	sem_init(&frames, 0, 0);
	sem_init(&room, 0, 8);
	pthread_create(&decoder, NULL, decode_frames, NULL);
	pthread_create(&encoder, NULL, encode_frames, NULL);
	pthread_join(decoder, NULL);
	pthread_join(encoder, NULL);
	return 0;
}
