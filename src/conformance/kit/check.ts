/** The form of a check. */

import type { Target } from './targets.js'
import type { WireCard } from './wire.js'

/** One of `JSONRPC` and `HTTP+JSON`, and the version of A2A. */
export interface Only {
  readonly binding?: string
  readonly version?: string
}

/** Sections of the specification: of one version, or by the version of the interface that is checked. */
export type Spec = string | Readonly<Record<'1.0' | '0.3', string>>

export interface CardContext {
  /** The URL of the agent, or of its card. */
  readonly url: string
  readonly card: WireCard
  readonly targets: readonly Target[]
}

export interface Context extends CardContext {
  readonly target: Target
}

interface CheckOf<C> {
  readonly id: string
  readonly title: string
  readonly spec: Spec
  /** Default is `must`. */
  readonly level?: 'must' | 'should'
  readonly only?: Only
  /** Whether the agent gives reason for the check. Default is that it does. */
  readonly when?: (context: C) => boolean
  readonly run: (context: C) => Promise<void>
}

/** A check that runs once for an agent. */
export type CardCheck = CheckOf<CardContext>

/** A check of one interface. */
export type Check = CheckOf<Context>
