/** An error as the Messages API answers it. */
export interface ApiError {
  status: number;
  type: string;
  message: string;
  details?: Record<string, unknown>;
}

const TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

const MESSAGES: Record<number, string> = {
  429: 'This request would exceed your account’s rate limit. Please try again later.',
  500: 'Internal server error',
  529: 'Overloaded',
};

/** The error with the API's type and text for a status, where none is given. */
export function apiError(status: number, message?: string, type?: string): ApiError {
  return {
    status,
    type: type ?? TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error'),
    message: message ?? MESSAGES[status] ?? `Scripted failure with status ${status}`,
  };
}

/** An invalid_request_error of the script itself: the rehearsal is wrong, not the API. */
export function scriptError(message: string): ApiError {
  return apiError(400, `model-server script: ${message}`);
}

/** The JSON body of an error answer. */
export function errorBody(error: ApiError, requestId: string): string {
  return JSON.stringify({
    type: 'error',
    error: { type: error.type, message: error.message, ...(error.details && { details: error.details }) },
    request_id: requestId,
  });
}
