/**
 * Type of the result of functions that return nothing.
 *
 * @module
 */

/** `undefined`, or `void` as TypeScript infers it for a function without a `return`. */
export type Nothing = ReturnType<() => void> | undefined
