/** Types of `a2a-tasks/ai`, with tools as those of AI SDK. */
import type { AiSdk } from 'a2a-tasks/ai'
import { expectTypeOf, test } from 'vitest'

declare const ai: AiSdk

interface Tool<I> {
  readonly inputSchema: object
  readonly execute?: (input: I, options: { readonly toolCallId: string }) => unknown
}

interface Tools {
  readonly book: Tool<{ city: string }>
  readonly pay: Tool<{ price: number }>
}

test('rules of approvals know the inputs of the tools whose type they get', () => {
  ai.approval<Tools>({
    book: 'user-approval',
    pay: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ price: number }>()
      return input.price > 100 ? 'user-approval' : 'approved'
    },
  })
  // @ts-expect-error no tool has this name
  ai.approval<Tools>({ books: 'user-approval' })
  // @ts-expect-error no decision
  ai.approval({ book: 'ask' })
})

test('without the type of the tools, a rule writes the type of its input', () => {
  ai.approval({ pay: ({ price }: { price: number }) => (price > 100 ? 'user-approval' : undefined) })
  ai.approval({
    pay: (input) => {
      expectTypeOf(input).toBeUnknown()
      return undefined
    },
  })
})
