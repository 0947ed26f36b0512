import { z } from 'zod';

/** The answer of actions that only confirm: nothing besides `code`. */
export const doneSchema = z.object({});

/** The answer of actions that confirm in words. */
export const messagesSchema = z.object({ messages: z.array(z.string()) });
