/**
 * Generated ids.
 *
 * @module
 */
import { v4 } from 'uuid'

/** Returns a unique id for a task, message or artifact. */
export type GenerateId = () => string

/** A UUID v4. Also works on pages without HTTPS, which have `crypto.getRandomValues` but not `crypto.randomUUID`. */
export const randomId: GenerateId = () => v4()
