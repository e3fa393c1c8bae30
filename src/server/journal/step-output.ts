/**
 * Types of what steps return.
 *
 * @module
 */
import type { Nothing } from '../nothing.js'

declare const ADVICE: unique symbol

/** Nothing is of this type: the compiler shows the advice. */
interface Refused<Advice extends string> {
  readonly [ADVICE]: Advice
}

/** Data may have a property of this name, but no method. */
type NoMethod<Advice extends string> =
  string | number | bigint | boolean | null | undefined | (object & { readonly bind?: Refused<Advice> })

type Return = 'a step returns data'
type Instance = `${Return}: return the data of the instance`
type Stream = `${Return}: read the stream in the step`

/** Functions, promises, streams and most instances of classes have one of these. */
interface Data {
  readonly bind?: Refused<`${Return}, not functions`>
  readonly then?: NoMethod<`${Return}: await the promise`>
  readonly throw?: NoMethod<Stream>
  readonly getReader?: NoMethod<Stream>
  readonly [Symbol.asyncIterator]?: Refused<Stream>
  readonly arrayBuffer?: NoMethod<Instance>
  readonly toJSON?: NoMethod<Instance>
}

/**
 * What a step may return, as far as a type can say: JSON, `undefined`, `NaN`, the infinities, -0, and `bigint`, `Date`,
 * `Uint8Array`, `Buffer`, `Map`, `Set`, `Error`, `RegExp` and `URL`, in objects and arrays of any depth. The call of a step
 * checks what the type does not say: members that are functions, symbols, or instances of other classes.
 */
export type StepOutput =
  | string
  | number
  | bigint
  | boolean
  | null
  | Nothing
  | Date
  | Error
  | Uint8Array
  | { readonly href: string; readonly searchParams: object }
  | (object & Data)

/** Of `unknown`, such as the body of a response, the call of the step checks all. Nothing else passes. */
export type Unknown<T> = unknown extends T
  ? unknown
  : Refused<`${Return}, not functions, streams or instances`>
