/**
 * The client behind a chat.
 *
 * @module
 */
import type { A2AClient } from '../client/a2a-client.js'

/** What is used of a client. */
export type ChatClient = Pick<A2AClient, 'run' | 'resume' | 'getTask' | 'listTasks' | 'subscribe'>
