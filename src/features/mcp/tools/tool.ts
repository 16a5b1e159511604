import type { CallToolResult } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { GuardedReader } from '../guarded-reader.ts'
import type { Query } from '../json-rows.ts'

export type Call = { query: Query; reader: GuardedReader; signal: AbortSignal }

/** A tool: `run` gets the checked input and makes the answer. */
export type Tool = {
  name: string
  title: string
  description: string
  input: z.ZodObject
  /** the data of the answer; `left_out` is added to all */
  output: z.ZodRawShape
  run(call: Call, input: never): Promise<CallToolResult>
}

/** Makes a tool, so that the input of `run` has the type of its schema. */
export function makeTool<Input extends z.ZodObject>(
  tool: Omit<Tool, 'input' | 'run'> & {
    input: Input
    run(call: Call, input: z.output<Input>): Promise<CallToolResult>
  },
): Tool {
  return tool
}

/** Parts of inputs and outputs that several tools have. */
export const account = z.string().max(200).optional().describe('name of an account; all unless given')
export const day = z.iso.date().optional()
export const number = z.number().nullable()
export const text = z.string().nullable()

/** Makes outputs of one type from their names, which spaces part. */
export function each(type: z.ZodType, names: string): z.ZodRawShape {
  return Object.fromEntries(names.split(' ').map((name) => [name, type]))
}
