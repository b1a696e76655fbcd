# syntax=docker/dockerfile:1
# Build:  docker build -t ringside .                       (study, quiz, calculators, timelines: small)
#         docker build -t ringside --build-arg TORCH=1 .   (with the live benchmark)
# Run:    docker run -p 127.0.0.1:8000:8000 -v ringside:/data ringside

FROM node:22-slim AS front-end
WORKDIR /static
COPY static/package.json static/package-lock.json static/.npmrc ./
RUN npm ci --omit=dev --no-audit --no-fund

FROM python:3.12-slim AS packages
ARG TORCH=0
WORKDIR /build
COPY pyproject.toml constraints.txt README.md ./
COPY app app
RUN python -m venv /venv \
 && /venv/bin/pip install --no-cache-dir --constraint constraints.txt '.[postgres]' \
 && if [ "$TORCH" = 1 ]; then /venv/bin/pip install --no-cache-dir --constraint constraints.txt '.[bench]'; fi \
 && /venv/bin/pip uninstall --yes ringside

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /data --create-home ringside
COPY --from=packages /venv /venv
WORKDIR /ringside
COPY app app
COPY templates templates
COPY content content
COPY static static
COPY --from=front-end /static/node_modules static/node_modules
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    RINGSIDE_DATA=/data RINGSIDE_HOST=0.0.0.0 RINGSIDE_PORT=8000
USER ringside
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f\"http://127.0.0.1:{os.environ['RINGSIDE_PORT']}/healthz\", timeout=4)"]
CMD ["python", "-m", "app", "serve"]
