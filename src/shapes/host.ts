/** A machine that has a job's folder and its workspace: the queue that only its workers poll, and what people call it. */
export type Host = { queue: string; name: string };
