/**
 * Generated ids.
 *
 * @module
 */
import { v4 } from 'uuid'

/** Returns an id that no other task, message or artifact has. */
export type GenerateId = () => string

/** A UUID v4. Also works on pages not served over HTTPS, which have `crypto.getRandomValues` but no `randomUUID`. */
export const randomId: GenerateId = () => v4()
