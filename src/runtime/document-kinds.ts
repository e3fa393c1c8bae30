/**
 * The kinds of the documents that the parts of this package keep beside tasks in a store.
 *
 * Each kind has one owner, since a part reads, changes and deletes all documents of its kinds, also those of other processes.
 *
 * @module
 */

/** What `restore` has stored of the time before a task's log. */
export const RESTORED = 'restored'
/** The task that continues a dead letter. */
export const REDRIVE = 'redrive'
/** The tasks that a task has led to: the rest of the kind is a hash of its id. */
export const CHILD_OF = 'child:'
/** The requests of the messages of a run. */
export const REQUEST = 'request'
/** The id that a client knows a task by, and its dialect. */
export const ORIGIN = 'origin'
/** The webhooks of a task. */
export const WEBHOOKS = 'push'
/** What the webhooks of a task have yet to receive. */
export const WEBHOOK_OUTBOX = 'push-outbox'
/** That a run waits for other agents, by `run.delegate`. */
export const RUN_DELEGATION = 'run-delegation'
/** How far a task has come at another agent, by `sendTask` of a client. */
export const SENT_TASK = 'delegation'
/** How far a task of a gateway has come at its service. */
export const GATEWAY_TASK = 'gateway'
/** Where a task of a gateway has ended. Later tasks continue its conversation. */
export const GATEWAY_END = 'gateway-ended'
/** What a process has spent of a budget over a window: the rest of the kind is a hash of the window and its owner. */
export const BUDGET_WINDOW = 'budget:'
/** Up to which time the tasks of a schedule have begun. */
export const SCHEDULE = 'schedule'
/** The span of a task that a process has released. */
export const TRACE = 'trace'
