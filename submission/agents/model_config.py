"""Which model answers for whom, and what must never leave: secrets."""

from __future__ import annotations

import re

_MASK = "[secret removed]"

# Key formats of the big providers, bearer tokens, private keys, passwords in URLs and assignments.
_SECRETS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]{0,8000}?(?:-----END [A-Z ]*PRIVATE KEY-----|$)"
    r"|\bsk-[A-Za-z0-9_-]{16,}"
    r"|\b(?:ghp|gho|ghs|ghu|ghr|github_pat)_[A-Za-z0-9_]{20,}"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\bhf_[A-Za-z0-9]{20,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|(?i:\bbearer\s+)[A-Za-z0-9._~+/=-]{16,}"
    r"|(?i:\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=)[A-Za-z0-9+/=%&_-]{16,}"
    r"|(?i:\b(?:api[_-]?key|secret|password|passwd|token)\s*[:=]\s*)['\"]?[^\s'\",;]{8,}"
    r"|(?<=://)[^\s/:@]{1,100}:[^\s/@]{1,200}(?=@)"
)
# Every alternative above needs one of these, so plain prose is passed over quickly.
_HINTS = (
    *("sk-", "ghp_", "gho_", "ghs_", "ghu_", "ghr_", "github_pat", "akia", "asia", "aiza", "xox", "hf_", "eyj"),
    *("bearer", "apikey", "api_key", "api-key", "accountkey", "sharedaccess", "secret", "passw", "token", "://"),
    "-----begin",
)


def scrub_secrets(text: str) -> str:
    """The text with everything that looks like a credential masked, the rest left readable."""
    return _SECRETS.sub(_MASK, text) if may_hold_secrets(text) else text


def may_hold_secrets(text: str) -> bool:
    """Whether a closer look is due; false for nearly all prose."""
    folded = text.casefold()
    return any(hint in folded for hint in _HINTS)
