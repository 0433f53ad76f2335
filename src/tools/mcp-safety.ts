/** Whether the tool of an MCP server may run beside its neighbours: only when the server marks it as read-only with the boolean `true`. */
export function isConcurrencySafeMcp(annotations: unknown): boolean {
  return (
    typeof annotations === 'object' &&
    annotations !== null &&
    'readOnlyHint' in annotations &&
    annotations.readOnlyHint === true
  );
}
