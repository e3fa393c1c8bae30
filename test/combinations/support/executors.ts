/** Work that a test controls. */
export { gate } from '../../server/spec/support/agent.js'

/** Works until it is stopped. */
export function endless({ signal }: { readonly signal: AbortSignal }): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
