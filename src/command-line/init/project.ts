/**
 * A project for a new agent, as its user wants it.
 *
 * @module
 */
export interface Project {
  readonly name: string
  readonly language: 'ts' | 'js'
  /** Whether the agent has a language model. */
  readonly isLlm: boolean
  /** Whether the project has a loader of TypeScript, for a Node that has none. */
  readonly hasLoader: boolean
  /** The version of this package to depend on. */
  readonly version: string
}
