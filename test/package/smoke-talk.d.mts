import type * as Client from 'a2a-tasks/client'
import type { Execute } from 'a2a-tasks/server'

export function talk(client: typeof Client, url: string): Promise<void>
export const execute: Execute
